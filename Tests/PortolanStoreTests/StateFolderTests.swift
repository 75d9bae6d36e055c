// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import PortolanCookies
    import PortolanCore
    import PortolanHSTS
    import PortolanTestSupport
    import PortolanURL
    import TestThreads
    import Testing

    @testable import PortolanStore

    /// The cookies, HSTS hosts and attributes that a state folder stores.
    @Suite(.blocking) struct StateFolderTests {
        private let fixture: StateFixture

        init() throws { fixture = try StateFixture() }

        @Test func cookieIsStoredWithAllItsAttributes() throws {
            let now = Date(timeIntervalSince1970: 1_800_000_000.25)
            var cookie = Cookie(name: "a", value: "b", domain: "example.org", path: "/p", now: now)
            cookie.nameBytes = [0x61, 0xFF, 0x20]
            cookie.valueBytes = [0xC3, 0x28, 0x3D]
            cookie.isHostOnly = false
            cookie.expiry = Date(timeIntervalSince1970: 4_000_000_000.5)
            (cookie.isSecure, cookie.isHTTPOnly, cookie.sameSite) = (true, true, .strict)
            cookie.partition = Site(scheme: "https", domain: "top.example")
            try fixture.write { try $0.cookies.set(cookie) }
            let state = try fixture.open()
            #expect(state.cookies.cookies == [cookie])
        }

        @Test(arguments: [nil, Cookie.SameSite.none, .lax, .strict])
        func sameSiteIsStored(sameSite: Cookie.SameSite?) throws {
            var cookie = Cookie.test(1)
            cookie.isSecure = true
            cookie.sameSite = sameSite
            try fixture.write { try $0.cookies.set(cookie) }
            #expect(try fixture.open().cookies.cookies.map(\.sameSite) == [sameSite])
        }

        /// Cookies with paths of equal length are sent in the order of their creation (RFC 6265bis §5.8.3), even if
        /// they have the same creation time.
        @Test func orderOfCreationIsStored() throws {
            let now = Date()
            let names = ["z", "a", "m", "b", "y"]
            try fixture.write { state in
                for name in names {
                    var cookie = Cookie(name: name, value: "1", domain: "example.org", now: now)
                    cookie.expiry = now.addingTimeInterval(86_400)
                    try state.cookies.set(cookie)
                }
            }
            try fixture.write { state in
                var cookie = Cookie(name: "a", value: "2", domain: "example.org")
                cookie.expiry = now.addingTimeInterval(86_400)
                try state.cookies.set(cookie)
            }
            let url = try URLRecord(parsing: "http://example.org/")
            #expect(try fixture.open().cookies.cookies(for: url).map { "\($0.name)\($0.value)" } == ["z1", "a2", "m1", "b1", "y1"])
        }

        /// RFC 6265bis §5.7: a session ends with the process.
        @Test func sessionCookieIsNotStored() throws {
            let sessionCookie = Cookie(name: "s", value: "1", domain: "example.org")
            var persistentCookie = sessionCookie
            persistentCookie.expiry = Date(timeIntervalSinceNow: 1000)
            try fixture.write { state in
                try state.cookies.set(sessionCookie)
                #expect(state.cookies.cookies.count == 1)
            }
            #expect(try fixture.cookieNames() == [])
            try fixture.write { try $0.cookies.set(persistentCookie) }
            #expect(try fixture.cookieNames() == ["s"])
            // A session cookie replaces a stored cookie with the same name.
            try fixture.write { try $0.cookies.set(sessionCookie) }
            #expect(try fixture.cookieNames() == [])
        }

        @Test func expiredCookieIsRemovedFromTheFile() throws {
            var cookie = Cookie.test(1)
            let files = StateFiles(folder: fixture.path)
            try fixture.writeCookies(2)
            cookie.expiry = Date(timeIntervalSinceNow: -1)
            let record = CookieRecord(cookie)
            let database = try Database(path: fixture.cookieFile, options: Database.Options())
            _ = try database.transaction(isWrite: true) { statements in
                try statements.execute(CookieRecord.schema.upsert, CookieRecord.columns(of: record.key) + record.values)
            }
            try database.close()
            #expect(try fixture.cookieNames() == ["n0"])
            let reopenedDatabase = try Database(path: files.path(of: "cookies.sqlite"), options: Database.Options())
            #expect(try reopenedDatabase.transaction(isWrite: false) { try $0.number("SELECT count(*) FROM cookie") } == 1)
        }

        @Test func removedCookiesAreRemovedFromTheFile() throws {
            try fixture.writeCookies(3)
            try fixture.write { $0.cookies.delete(.test(1)) }
            #expect(try fixture.cookieNames() == ["n0", "n2"])
            try fixture.write { $0.cookies.removeAll() }
            #expect(try fixture.cookieNames() == [])
            // With `secure_delete`, SQLite overwrites the removed rows.
            #expect(!String(decoding: try fixture.bytes(of: "cookies.sqlite"), as: UTF8.self).contains("h1.example"))
        }

        /// C strings end at a NUL, and texts of SQLite do not. Rows that two programs could make differ only after it.
        @Test func textWithNULIsReadAndRemoved() throws {
            var cookie = Cookie.test(1)
            cookie.path = "/a\u{0}b"
            try fixture.write { try $0.cookies.set(cookie) }
            let count = "SELECT count(*) FROM cookie WHERE CAST(path AS BLOB) = x'2F610062'"
            #expect(try fixture.number(count) == 1)
            cookie.path = "/a"
            try fixture.write { state in
                try state.cookies.set(cookie)
                #expect(state.cookies.cookies.map(\.path) == ["/a\u{0}b", "/a"])
            }
            try fixture.write { state in
                #expect(state.cookies.cookies.map(\.path) == ["/a\u{0}b", "/a"])
                state.cookies.removeAll()
            }
            #expect(try fixture.number("SELECT count(*) FROM cookie") == 0)
        }

        @Test func rowThatIsNoUTF8Stays() throws {
            try fixture.writeCookies(1)
            try fixture.execute("UPDATE cookie SET path = CAST(x'2FFF' AS TEXT)")
            #expect(try fixture.cookieNames() == [])
            #expect(fixture.log.messages.contains { $0.contains("1 of 1 rows") })
            #expect(try fixture.number("SELECT count(*) FROM cookie") == 1)
        }

        @Test func timeOfTheLastUseIsStored() throws {
            var cookie = Cookie.test(1)
            cookie.lastAccessTime = Date(timeIntervalSinceNow: -3 * 86_400)
            cookie.expiry = Date(timeIntervalSinceNow: 86_400)
            let url = try URLRecord(parsing: "http://h1.example/")
            try fixture.write { $0.cookies.restore(cookie) }
            try fixture.write { #expect($0.cookies.cookies(for: url).count == 1) }
            let lastUse = try #require(try fixture.open().cookies.cookies.first?.lastAccessTime)
            #expect(abs(lastUse.timeIntervalSinceNow) < 3600)
        }

        @Test func hostsAreStored() throws {
            let end = Date(timeIntervalSince1970: 4_000_000_000)
            try fixture.write { state in
                state.strictTransportSecurity.set(.init(name: "a.example", includesSubdomains: true, expiry: end))
                state.strictTransportSecurity.set(.init(name: "B.example."))
                state.strictTransportSecurity.set(.init(name: "c.example"))
                state.strictTransportSecurity.remove("c.example")
            }
            let hosts = try fixture.open().strictTransportSecurity.allHosts
            #expect(hosts == [.init(name: "a.example", includesSubdomains: true, expiry: end), .init(name: "b.example")])
        }

        /// A loader retains only the storages of its folder.
        @Test func storageKeepsTheFolderOpen() throws {
            var state: StateFolder? = try fixture.open()
            let cookies = try #require(state?.cookies)
            state = nil
            try cookies.set(.test(1))
            let secondFolder = try fixture.open()
            #expect(secondFolder.cookies.wait { $0.cookies.count == 1 })
        }

        @Test func releasedFolderWritesAndClosesItsFiles() throws {
            do {
                let state = try fixture.open()
                try state.cookies.set(.test(1))
            }
            let secondFolder = try fixture.open()
            #expect(secondFolder.cookies.wait { $0.cookies.count == 1 })
        }

        @Test func persistentConfigurationUsesTheStoragesOfTheFolder() throws {
            let state = try fixture.open()
            let configuration = Loader.Configuration.persistent(in: state)
            #expect(configuration.cookies === state.cookies)
            #expect(configuration.strictTransportSecurity === state.strictTransportSecurity)
        }

        @Test func asynchronousOpenAndFlushWork() async throws {
            let state = try await StateFolder.open(fixture.path)
            try state.cookies.set(.test(1))
            try await state.flush()
            let secondFolder = try await StateFolder.open(fixture.path + "/")
            #expect(secondFolder.cookies.cookies.count == 1 && secondFolder.path == fixture.path)
        }

        @Test func flushOfAClosedFolderIsAnError() throws {
            let state = try fixture.open()
            state.waitForClose()
            try state.cookies.set(.test(1))
            let error = #expect(throws: StoreError.self) { try state.waitForFlush() }
            #expect(error?.code == .closed)
        }

        /// XDG Base Directory Specification: relative paths are ignored.
        @Test(
            arguments: [
                (["XDG_STATE_HOME": "/s", "HOME": "/h"], "/s/portolan"),
                (["XDG_STATE_HOME": "s", "HOME": "/h"], "/h/.local/state/portolan"),
                (["XDG_STATE_HOME": "", "HOME": "/h"], "/h/.local/state/portolan"), (["HOME": "h"], nil), ([:], nil),
            ] as [([String: String], String?)])
        func standardFolder(environment: [String: String], expected: String?) {
            #expect(StateFolder.standardPath { environment[$0] } == expected)
        }
    }
#endif
