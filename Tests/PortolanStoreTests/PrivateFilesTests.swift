// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import PortolanCookies
    import PortolanTestSupport
    import TestThreads
    import Testing

    @testable import PortolanStore

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Only the user can read and change the files of a state folder.
    @Suite(.blocking) struct PrivateFilesTests {
        private let fixture: StateFixture

        init() throws { fixture = try StateFixture() }

        /// The permissions of a file or folder.
        private func mode(_ path: String) throws -> mode_t {
            var status = stat()
            try #require(unsafe lstat(path, &status) == 0)
            return status.st_mode & 0o7777
        }

        @Test func foldersAndFilesArePrivate() throws {
            let path = fixture.temporary.path(of: "a/b/state")
            let state = try fixture.open(at: path)
            try state.cookies.set(.test(1))
            try state.waitForFlush()
            for folder in ["a", "a/b", "a/b/state"] { #expect(try mode(fixture.temporary.path(of: folder)) == 0o700) }
            let files = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
            #expect(files == ["cookies", "credentials", "hsts"].flatMap { name in ["", "-shm", "-wal"].map { "\(name).sqlite\($0)" } })
            for file in files { #expect(try mode("\(path)/\(file)") == 0o600, "\(file)") }
        }

        @Test func permissionsOfOthersAreRemoved() throws {
            try fixture.writeCookies(1)
            try fixture.temporary.setPermissions("state/cookies.sqlite", 0o644)
            #expect(try fixture.cookieNames() == ["n0"])
            #expect(try mode(fixture.cookieFile) == 0o600)
            // The protection from writing stays.
            try fixture.temporary.setPermissions("state/cookies.sqlite", 0o444)
            #expect(try fixture.cookieNames() == ["n0"])
            #expect(try mode(fixture.cookieFile) == 0o400)
            try fixture.temporary.write([], to: "state/cookies.sqlite-journal")
            try fixture.temporary.setPermissions("state/cookies.sqlite-journal", 0o644)
            try StateFiles(folder: fixture.path).prepare("cookies.sqlite")
            #expect(try mode(fixture.cookieFile + "-journal") == 0o600)
        }

        @Test(arguments: [0o720, 0o702, 0o777])
        func folderThatOthersCanChangeIsRefused(mode: Int) throws {
            try fixture.writeCookies(1)
            try fixture.temporary.setPermissions("state", mode)
            #expect(fixture.openingError()?.code == .notPrivate)
            try fixture.temporary.setPermissions("state", 0o755)
            #expect(try fixture.cookieNames() == ["n0"])
        }

        @Test func symbolicLinksAreRefused() throws {
            try fixture.writeCookies(1)
            try fixture.temporary.makeLink("link", to: fixture.path)
            for path in ["link", "link/"] {
                let error = #expect(throws: StoreError.self) {
                    try fixture.open(at: fixture.temporary.path(of: path))
                }
                #expect(error?.code == .notPrivate)
            }
            for name in [
                "cookies.sqlite", "cookies.sqlite-wal", "cookies.sqlite-shm", "cookies.sqlite-journal", "hsts.sqlite", "credentials.sqlite",
            ] {
                let path = fixture.path + "/" + name
                _ = unsafe rename(path, path + ".moved")
                try fixture.temporary.makeLink("state/\(name)", to: path + ".moved")
                #expect(fixture.openingError()?.code == .notPrivate, "\(name)")
                unsafe unlink(path)
                _ = unsafe rename(path + ".moved", path)
            }
            #expect(try fixture.cookieNames() == ["n0"])
        }

        @Test func otherKindsOfFilesAreRefused() throws {
            try fixture.temporary.write([], to: "state")
            #expect(fixture.openingError()?.code == .wrongKind)
            unsafe unlink(fixture.path)
            try fixture.temporary.write([], to: "state/cookies.sqlite/file")
            try fixture.temporary.setPermissions("state", 0o700)
            let error = fixture.openingError()
            #expect(error?.code == .wrongKind && error?.message.contains("move it away") == true, "\(error?.message ?? "")")
        }

        /// Only root can give a file to another user.
        @Test(
            .enabled(if: geteuid() == 0), arguments: ["state", "state/cookies.sqlite", "state/hsts.sqlite", "state/cookies.sqlite-journal"])
        func foreignOwnerIsRefused(name: String) throws {
            try fixture.writeCookies(1)
            if name.hasSuffix("-journal") { try fixture.temporary.write([], to: name) }
            try #require(unsafe chown(fixture.temporary.path(of: name), 65534, 65534) == 0)
            let error = fixture.openingError()
            #expect(error?.code == .notPrivate && error?.message.contains("belongs to user 65534") == true, "\(error?.message ?? "")")
        }

        @Test func folderWithoutPermissionIsAnError() throws {
            let path = "/proc/portolan/state"
            let error = #expect(throws: StoreError.self) {
                try fixture.open(at: path)
            }
            #expect(error?.message.contains(path) == true)
            #expect(throws: StoreError.self) { try fixture.open(at: "") }
        }
    }
#endif
