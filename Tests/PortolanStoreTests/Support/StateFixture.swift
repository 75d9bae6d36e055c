// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import Logging
    import PortolanCookies
    import PortolanCore
    import PortolanTestSupport
    import Synchronization

    @testable import PortolanStore

    /// A state folder in a temporary folder, and what is logged about it.
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

        /// The code of the error with which the folder can't be opened; `nil` if it can.
        func failure(_ options: Database.Options = Database.Options()) -> StoreError? {
            do throws(StoreError) {
                try open(options).waitForClose()
                return nil
            } catch {
                return error
            }
        }

        /// Opens the folder, changes it, and closes it.
        func write(_ body: (StateFolder) throws -> Void) throws {
            let state = try open()
            try body(state)
            try state.waitForFlush()
            state.waitForClose()
        }

        /// Writes this many cookies, of hosts of their own.
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

        func bytes(of name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path + "/" + name))) }

        func replace(_ name: String, by bytes: some Sequence<UInt8>) throws { try temporary.write(bytes, to: "state/" + name) }
    }

    extension Cookie {
        /// A cookie that ends in a day.
        static func test(_ number: Int, value: String = "value") -> Cookie {
            var cookie = Cookie(name: "n\(number)", value: value, domain: "h\(number).example")
            cookie.expiry = Date(timeIntervalSinceNow: 86_400)
            return cookie
        }
    }

    extension CookieStorage {
        /// Waits until the condition holds, which changes of other processes make true.
        func wait(until condition: @escaping @Sendable (CookieStorage) -> Bool) -> Bool {
            let changes = ConditionLock(())
            let observation = observe { _ in changes.withLockBroadcasting { _ in } }
            return withExtendedLifetime(observation) {
                changes.wait(atMost: .seconds(30)) { _ in condition(self) ? true : nil } ?? false
            }
        }
    }
#endif
