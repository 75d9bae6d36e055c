// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanFileSystem
import Synchronization

/// Writes a body to a file. The file gets its name only when the body is complete.
final class FileOutput: BodyOutput {
    enum Target: Sendable {
        case path(String)
        /// A file whose name is the last part of the request's URL, also after redirects. With `usesSuggestion`, the
        /// name that the response suggests takes precedence; that name never begins with a dot.
        case remoteName(of: URLRecord, usesSuggestion: Bool)

        /// The name of the file before there is a response; `nil` if there is none.
        var nameWithoutResponse: String? {
            switch self {
            case .path(let path): path
            case .remoteName(let url, _): url.hasOpaquePath ? nil : FileOutput.name(of: url)
            }
        }
    }

    /// How the file is created.
    struct Policy: Equatable, Sendable {
        /// The folder, before the path; empty for the current one.
        var folder = ""
        var collision: PartialFile.Collision
        var createsFolders = false
        /// Whether the file gets the time of `Last-Modified`.
        var keepsRemoteTime = false

        func path(of name: String) -> String { folder.isEmpty ? name : "\(folder)/\(name)" }
    }

    private struct OpenFile {
        let file: PartialFile
        /// The time of `Last-Modified` in seconds since 1970; `nil` if the file does not get it.
        let modified: Int64?
    }

    private let target: Target
    private let policy: Policy
    private let file = Mutex<OpenFile?>(nil)
    /// The path as the user gave it, with the added number.
    private let effectivePath: Mutex<String?>

    init(_ target: Target, _ policy: Policy? = nil) {
        self.target = target
        let policy = policy ?? Policy(collision: .replaces)
        self.policy = policy
        effectivePath = Mutex(target.nameWithoutResponse.map(policy.path(of:)))
    }

    var path: String? { effectivePath.withLock { $0 } }

    func begin(_ response: Response) throws(Failure) {
        guard file.withLock({ $0 == nil }) else { return }
        let name: String
        switch target {
        case .path(let path): name = path
        case .remoteName(let url, let usesSuggestion):
            // A URL with an opaque path, such as `gzip:file:///x`, has no last part.
            name = Self.name(of: url, usesSuggestion || url.hasOpaquePath ? response : nil)
        }
        let path = policy.path(of: name)
        effectivePath.withLock { $0 = path }
        let opened = try open(path)
        let modified = policy.keepsRemoteTime ? response.fields[.lastModified].flatMap { HTTPDate(parsing: $0, now: 0) } : nil
        file.withLock { $0 = OpenFile(file: opened, modified: modified?.secondsSince1970) }
    }

    private func open(_ path: String) throws(Failure) -> PartialFile {
        if policy.createsFolders {
            do throws(SystemError) { try FileSystem.makeFolders(leadingTo: path) } catch {
                throw Failure(.writeFailed, "cannot create the folder of '\(path)': \(error)")
            }
        }
        return try Failure.whileWriting { () throws(LoadError) in try PartialFile(for: path, collision: policy.collision) }
    }

    /// - Parameter response: the response whose suggested name is used, if it has one.
    static func name(of url: URLRecord, _ response: Response? = nil) -> String {
        guard let name = response?.proposedFilename else { return Response(url: url).suggestedFilename }
        return FileSystem.visibleName(name)
    }

    func write(_ bytes: borrowing RawSpan) throws(Failure) {
        guard let file = file.withLock({ $0?.file }) else { return }
        do throws(SystemError) {
            try file.descriptor.write(all: bytes)
        } catch {
            throw Failure(.writeFailed, "writing '\(file.path)' failed: \(error)")
        }
    }

    func complete() throws(Failure) {
        guard let open = takeFile() else { return }
        let completion: PartialFile.Completion
        do throws(Failure) {
            completion = try Failure.whileWriting { () throws(LoadError) in try open.file.complete(modified: open.modified) }
        } catch {
            open.file.discard()
            open.file.close()
            throw error
        }
        // `complete` can have added a number to the name.
        if policy.collision == .renames { effectivePath.withLock { $0 = completion.path } }
        for warning in completion.warnings { Diagnostics.warn(warning) }
    }

    func abandon() {
        takeFile()?.file.discard()
    }

    private func takeFile() -> OpenFile? {
        file.withLock { file in
            defer { file = nil }
            return file
        }
    }
}
