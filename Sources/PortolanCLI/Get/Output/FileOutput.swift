// SPDX-License-Identifier: Apache-2.0

import Portolan
import Synchronization

/// Writes a body to a file, which appears under its name only when it is whole.
final class FileOutput: BodyOutput {
    enum Target: Sendable {
        /// A regular file is replaced.
        case path(String)
        /// The response's suggestion, in the current folder; an existing file is left as it is. Whoever redirects from this URL suggests no
        /// hidden file.
        case suggested(for: URLRecord)
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
        case .suggested(let url):
            let path = Self.name(for: response, requested: url)
            guard FileSystem.kind(at: path) == nil else { throw PartialFile.exists(path) }
            opened = try PartialFile(for: path, collision: .fails)
        }
        file.withLock { $0 = opened }
    }

    private static func name(for response: Response, requested url: URLRecord) -> String {
        let name = response.suggestedFilename
        return name.hasPrefix(".") && response.url.path != url.path ? "_\(name.dropFirst())" : name
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
