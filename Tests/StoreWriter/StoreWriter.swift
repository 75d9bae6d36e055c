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

/// Stores cookies in a folder without end, and prints the number of each one that is on disk. Tests kill it.
///
///     StoreWriter FOLDER FIRST
@main
enum StoreWriter {
    static func main() {
        #if Persistence
            guard CommandLine.arguments.count == 3, var number = Int(CommandLine.arguments[2]) else { exit(2) }
            do throws(StoreError) {
                let state = try StateFolder.waitForOpen(CommandLine.arguments[1])
                while true {
                    try store(number, in: state)
                    write(number)
                    number += 1
                }
            } catch {
                print(error)
                exit(1)
            }
        #endif
    }

    #if Persistence
        private static func store(_ number: Int, in state: StateFolder) throws(StoreError) {
            var cookie = Cookie(name: "n\(number)", value: String(repeating: "v", count: number % 900), domain: "h\(number % 100).example")
            cookie.expiry = Date(timeIntervalSinceNow: 86_400)
            do throws(CookieError) { try state.cookies.set(cookie) } catch { exit(3) }
            // Rows are replaced and deleted, too.
            cookie = Cookie(name: "same", value: "\(number)", domain: "h.example")
            cookie.expiry = Date(timeIntervalSinceNow: 86_400)
            do throws(CookieError) { try state.cookies.set(cookie) } catch { exit(3) }
            try state.waitForFlush()
        }

        private static func write(_ number: Int) {
            let line = Array("\(number)\n".utf8)
            guard unsafe Glibc.write(1, line, line.count) == line.count else { exit(4) }
        }
    #endif
}
