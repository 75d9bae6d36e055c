// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanFileSystem
import Synchronization

extension Body {
    /// Streams an open file of unknown length. The body can be read only once.
    static func reading(_ file: Descriptor, name: String) -> Body {
        Body(length: nil, isRewindable: false) { DescriptorReader(file, name: name) }
    }
}

/// A reader that never blocks in a read. While no bytes are available, a separate thread waits for them.
private final class DescriptorReader: BodyReader {
    private let file: Descriptor
    private let name: String
    private let isClosed = Atomic(false)

    init(_ file: Descriptor, name: String) {
        self.file = file
        self.name = name
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        guard !isClosed.load(ordering: .acquiring) else { return .end }
        do throws(SystemError) {
            guard try file.waitUntilReadable(within: .zero) else { return waitUntilReadable(whenReady) }
            var bytes = [UInt8](repeating: 0, count: min(buffer.freeCapacity, 64 << 10))
            let count = try file.read(into: &bytes)
            guard count > 0 else { return .end }
            unsafe bytes.withUnsafeBytes { source in
                unsafe buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: source[..<count]))
            }
            return .bytes
        } catch {
            return .failed(LoadError(.bodyFailed, message: "reading \(name) failed: \(error)"))
        }
    }

    private func waitUntilReadable(_ whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        do throws(LoadError) {
            try PlatformThread.start { [file] in
                // `try?` because the following read reports the error.
                _ = try? file.waitUntilReadable(within: nil)
                whenReady()
            }
            return .wait
        } catch {
            return .failed(error)
        }
    }

    /// Does not close the descriptor, because a thread can still wait on it. The program ends soon.
    func close() { isClosed.store(true, ordering: .releasing) }
}
