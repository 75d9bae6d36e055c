// SPDX-License-Identifier: Apache-2.0

import PortolanCookies
import PortolanCore

#if Persistence
    import FoundationEssentials
    import PortolanStore
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Stores cookies with increasing numbers in a folder until a test kills the program. Prints a number when its cookie
/// is on disk. FIRST is the first number.
///
///     StoreWriter FOLDER FIRST
@main
enum StoreWriter {
    static func main() {
        #if Persistence
            guard CommandLine.arguments.count == 3, var number = Int(CommandLine.arguments[2]) else { exit(2) }
            do throws(StoreError) {
                let stateFolder = try StateFolder.waitForOpen(CommandLine.arguments[1])
                while true {
                    try store(number, in: stateFolder)
                    writeLine(number)
                    number += 1
                }
            } catch {
                print(error)
                exit(1)
            }
        #endif
    }

    #if Persistence
        private static func store(_ number: Int, in stateFolder: StateFolder) throws(StoreError) {
            var cookie = Cookie(name: "n\(number)", value: String(repeating: "v", count: number % 900), domain: "h\(number % 100).example")
            cookie.expiry = Date(timeIntervalSinceNow: 86_400)
            do throws(CookieError) { try stateFolder.cookies.set(cookie) } catch { exit(3) }
            // This cookie replaces the one of the previous number, so that the program also replaces and deletes rows.
            cookie = Cookie(name: "same", value: "\(number)", domain: "h.example")
            cookie.expiry = Date(timeIntervalSinceNow: 86_400)
            do throws(CookieError) { try stateFolder.cookies.set(cookie) } catch { exit(3) }
            try stateFolder.waitForFlush()
        }

        private static func writeLine(_ number: Int) {
            let line = Array("\(number)\n".utf8)
            guard unsafe Glibc.write(1, line, line.count) == line.count else { exit(4) }
        }
    #endif
}
