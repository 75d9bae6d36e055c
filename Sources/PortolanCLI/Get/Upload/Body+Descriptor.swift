// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import Synchronization

extension Body {
    /// What comes from an open file whose length is not known, as it comes; it can be read once.
    static func reading(_ file: Descriptor, name: String) -> Body {
        Body(length: nil, isRewindable: false) { DescriptorReader(file, name: name) }
    }
}

/// Never waits in a read: while nothing is there, a thread of its own waits for something.
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
            guard try file.canBeRead(within: .zero) else { return wait(whenReady) }
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

    private func wait(_ whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        do throws(LoadError) {
            try PlatformThread.start { [file] in
                // `try?` because the read that follows says what is wrong.
                _ = try? file.canBeRead(within: nil)
                whenReady()
            }
            return .wait
        } catch {
            return .failed(error)
        }
    }

    /// The descriptor is the program's, which ends soon: a thread may still wait on it.
    func close() { isClosed.store(true, ordering: .releasing) }
}
