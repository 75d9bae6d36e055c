// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A copy of a library beside it, so that what it finds beside itself is the same. Nobody writes to it; its name goes once it is mapped.
struct LibraryCopy: ~Copyable {
    /// Begins with a dot, so no search for plugins heeds it.
    let path: String

    private static let counter = Monitor<UInt64>(0)

    /// Copies what `source` holds.
    init(of source: String, _ descriptor: CInt) throws(SystemCallError) {
        let number = Self.counter.withLock { count -> UInt64 in
            count += 1
            return count
        }
        let folder = Folder.parent(of: source) ?? "."
        path = "\(folder)/.portolan-\(getpid())-\(number)-\(UInt32.random(in: 0 ... .max)).so"
        let target = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o500)
        guard target >= 0 else { throw .last }
        defer { close(target) }
        do throws(SystemCallError) {
            try Self.copy(descriptor, to: target)
        } catch {
            unsafe unlink(path)
            throw error
        }
    }

    deinit { unsafe unlink(path) }

    private static func copy(_ source: CInt, to target: CInt) throws(SystemCallError) {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        var offset: off_t = 0
        while true {
            let count = unsafe pread(source, &bytes, bytes.count, offset)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .last }
            guard count > 0 else { return }
            var written = 0
            while written < count {
                let step = unsafe bytes.withUnsafeBytes {
                    unsafe write(target, $0.baseAddress.map { unsafe $0 + written }, count - written)
                }
                if step < 0, errno == EINTR { continue }
                guard step > 0 else { throw .last }
                written += step
            }
            offset += off_t(count)
        }
    }
}
