// SPDX-License-Identifier: Apache-2.0

import Portolan
import Synchronization

/// Writes a body to a file. The file gets its name only when the body is complete.
final class FileOutput: BodyOutput {
    enum Target: Sendable {
        /// Replaces a regular file.
        case path(String)
        /// A file in the current folder. Its name is the last part of the request's URL, also after redirects. With
        /// `usesSuggestion`, the name that the response suggests takes precedence; that name never begins with a dot.
        /// An existing file is not overwritten.
        case remoteName(of: URLRecord, usesSuggestion: Bool)
    }

    private let target: Target
    private let file = Mutex<PartialFile?>(nil)

    init(_ target: Target) {
        self.target = target
    }

    func begin(_ response: Response) throws(Failure) {
        guard file.withLock({ $0 == nil }) else { return }
        let opened: PartialFile
        switch target {
        case .path(let path): opened = try PartialFile(for: path, collision: .replaces)
        case .remoteName(let url, let usesSuggestion):
            // A URL with an opaque path, such as `gzip:file:///x`, has no last part.
            let path = Self.name(of: url, usesSuggestion || url.hasOpaquePath ? response : nil)
            opened = try PartialFile(for: path, collision: .fails)
        }
        file.withLock { $0 = opened }
    }

    /// - Parameter response: the response whose suggested name is used, if it has one.
    static func name(of url: URLRecord, _ response: Response? = nil) -> String {
        guard let name = response?.proposedFilename else { return Response(url: url).suggestedFilename }
        return name.hasPrefix(".") ? "_\(name.dropFirst())" : name
    }

    func write(_ bytes: borrowing RawSpan) throws(Failure) {
        guard let file = file.withLock({ $0 }) else { return }
        do throws(SystemError) {
            try file.descriptor.write(all: bytes)
        } catch {
            throw Failure(.writeFailed, "writing '\(file.path)' failed: \(error)")
        }
    }

    func complete() throws(Failure) {
        try takeFile()?.complete()
    }

    func abandon() {
        takeFile()?.discard()
    }

    private func takeFile() -> PartialFile? {
        file.withLock { file in
            defer { file = nil }
            return file
        }
    }
}
