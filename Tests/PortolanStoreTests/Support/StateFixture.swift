// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import Logging
    import PortolanCookies
    import PortolanCore
    import PortolanTestSupport
    import Synchronization

    @testable import PortolanStore

    /// A state folder in a temporary folder, and the log of its stores.
    struct StateFixture {
        let temporary: TemporaryFolder
        let log = RecordedLog()

        init() throws { temporary = try TemporaryFolder() }

        /// The state folder, which may not exist yet.
        var path: String { temporary.path(of: "state") }
        var cookieFile: String { path + "/cookies.sqlite" }

        func open(_ options: Database.Options = Database.Options()) throws(StoreError) -> StateFolder {
            try open(at: path, options)
        }

        func open(at path: String, _ options: Database.Options = Database.Options()) throws(StoreError) -> StateFolder {
            try StateFolder.waitForOpen(path, options: options, logger: log.logger)
        }

        /// The error of opening the folder; `nil` if the folder can be opened.
        func openingError(_ options: Database.Options = Database.Options()) -> StoreError? {
            do throws(StoreError) {
                try open(options).waitForClose()
                return nil
            } catch {
                return error
            }
        }

        /// Opens the folder, changes it, and closes it.
        func write(_ change: (StateFolder) throws -> Void) throws {
            let state = try open()
            try change(state)
            try state.waitForFlush()
            state.waitForClose()
        }

        /// Writes this number of cookies, each of another host.
        func writeCookies(_ count: Int) throws {
            try write { state in for number in 0..<count { try state.cookies.set(.test(number)) } }
        }

        /// The names of the stored cookies.
        func cookieNames() throws -> [String] {
            let state = try open()
            defer { state.waitForClose() }
            return state.cookies.cookies.map(\.name)
        }

        /// Executes statements in a file of the folder.
        func execute(_ sql: String, in name: String = "cookies.sqlite") throws {
            let database = try Database(path: "\(path)/\(name)", options: Database.Options())
            try database.transaction(isWrite: true) { try $0.executeAll(sql) }
            try database.close()
        }

        func number(_ sql: String, in name: String = "cookies.sqlite") throws -> Int64 {
            let database = try Database(path: "\(path)/\(name)", options: Database.Options())
            let number = try database.transaction(isWrite: false) { try $0.number(sql) }
            try database.close()
            return number
        }

        /// The names of the files in the folder.
        var files: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }

        /// The contents of a file in the folder.
        func bytes(of name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path + "/" + name))) }

        /// Replaces a file in the folder.
        func replace(_ name: String, by bytes: some Sequence<UInt8>) throws { try temporary.write(bytes, to: "state/" + name) }
    }

    extension Cookie {
        /// A cookie named `n` and its number. It expires in a day.
        static func test(_ number: Int, value: String = "value") -> Cookie {
            var cookie = Cookie(name: "n\(number)", value: value, domain: "h\(number).example")
            cookie.expiry = Date(timeIntervalSinceNow: 86_400)
            return cookie
        }
    }

    extension CookieStorage {
        /// Waits until changes by another process or another connection fulfil the condition, for at most 30 seconds.
        func wait(until condition: @escaping @Sendable (CookieStorage) -> Bool) -> Bool {
            let changes = ConditionLock(())
            let observation = observe { _ in changes.withLockBroadcasting { _ in } }
            return withExtendedLifetime(observation) {
                changes.wait(atMost: .seconds(30)) { _ in condition(self) ? true : nil } ?? false
            }
        }
    }
#endif
