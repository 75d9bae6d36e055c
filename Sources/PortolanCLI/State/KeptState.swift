// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanCookies
import PortolanFileSystem
import PortolanHSTS

#if Persistence
    import PortolanStore
#endif

/// `--state FOLDER`: the folder in which the command keeps cookies and HSTS hosts between its runs.
struct StateFolderOption: ParsableArguments {
    #if Persistence
        @Option(
            name: .customLong("state"), parsing: .unconditional,
            help: ArgumentHelp(
                "Keep cookies and HSTS hosts in this folder between runs, and use the credentials that programs have stored there (default: nothing is kept). "
                    + "Session cookies and the password of -u are not kept.",
                valueName: "folder"),
            completion: .directory)
        var path: String?
    #endif

    /// Whether the option was given.
    var isGiven: Bool {
        #if Persistence
            path != nil
        #else
            false
        #endif
    }

    func validate() throws {
        #if Persistence
            if path?.isEmpty == true { throw ValidationError("--state: the name of the folder is empty") }
        #endif
    }

    /// Throws if a file that is written is in the state folder or the cache, because it could replace a database.
    ///
    /// - Parameter folder: `nil` for no folder.
    static func check(_ file: String, isOutside folder: String?, _ name: String = "the state folder") throws {
        guard let folder, FileSystem.isSame(FileSystem.split(file).folder.isEmpty ? "." : FileSystem.split(file).folder, folder) else {
            return
        }
        throw ValidationError("'\(file)' is in \(name), whose files it could replace; choose another folder")
    }

    /// Opens the folder; `nil` without the option.
    func open() throws(Failure) -> KeptState? {
        #if Persistence
            guard let path else { return nil }
            return try KeptState(path)
        #else
            return nil
        #endif
    }
}

/// An open state folder.
struct KeptState: Sendable {
    let cookies: CookieStorage
    let credentials: CredentialStorage
    let strictHosts: HSTSStorage

    #if Persistence
        private let folder: StateFolder

        /// - Parameters:
        ///   - path: `nil` for the user's standard folder.
        ///   - createsMissing: whether a missing store of cookies is created; otherwise it is a failure.
        init(_ path: String?, createsMissing: Bool = true) throws(Failure) {
            if !createsMissing { try Self.checkExistence(of: path) }
            do throws(StoreError) {
                folder = try StateFolder.waitForOpen(path, logger: DiagnosticLines.logger)
            } catch {
                throw Failure(error, option: "--state")
            }
            (cookies, credentials, strictHosts) = (folder.cookies, folder.credentials, folder.strictTransportSecurity)
        }

        private static func checkExistence(of path: String?) throws(Failure) {
            let problem: String?
            do throws(StoreError) { problem = try StateFolder.missingStateReason(path) } catch {
                throw Failure(error, option: "--state")
            }
            if let problem { throw Failure(.unreadable, "--state: \(problem)") }
        }
    #endif

    /// Writes the pending changes, and closes the folder. A second call has no effect.
    func close() throws(Failure) {
        #if Persistence
            do throws(StoreError) {
                try folder.waitForFlush()
            } catch {
                if error.code != .closed { throw Failure(error, option: "--state") }
            }
            folder.waitForClose()
        #endif
    }
}

#if Persistence
    extension Failure {
        /// - Parameter option: the option that names the folder.
        init(_ error: StoreError, option: String) {
            let isWriteFailure = [.busy, .readOnly, .full].contains(error.code)
            self.init(isWriteFailure ? .writeFailed : .unreadable, "\(option): \(error.message)")
        }
    }
#endif
