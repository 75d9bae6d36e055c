// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the processes of one check write to standard error: a file in memory, with at most 1 MiB. Later writes fail,
/// and ``lines`` says so.
///
/// A plugin that crashes often says why there: a panic in Rust, an exception in C++, a Swift trap.
final class ErrorOutput: Sendable {
    private static let size = 1 << 20
    /// The limits of ``lines``: their number, and their length in characters.
    private static let (lineLimit, lengthLimit) = (8, 300)

    /// The processes of all checks of one supervisor share the file, with its position.
    private let descriptor: Int32

    /// - Throws: If no file can be created.
    init() throws(CheckSkipped) {
        descriptor = portolan_error_output_file(Self.size)
        guard descriptor >= 0 else { throw CheckSkipped.resourceShortage("no file in memory could be created (errno \(errno))") }
    }

    /// Discards what was written. The file keeps its old bytes, and the position says where the new ones end.
    func clear() { lseek(descriptor, 0, SEEK_SET) }

    /// Makes the file the standard error of this process and its children.
    func redirect() { dup2(descriptor, STDERR_FILENO) }

    /// Closes the file in this process only. A process that was forked calls it, because it makes no more use of the
    /// object.
    func closeInChild() { close(descriptor) }

    deinit { close(descriptor) }

    /// The last lines that were written.
    var lines: [String] {
        let count = min(max(lseek(descriptor, 0, SEEK_CUR), 0), Self.size)
        var bytes = [UInt8](repeating: 0, count: min(count, 1 << 14))
        let readCount = unsafe pread(descriptor, &bytes, bytes.count, off_t(count - bytes.count))
        let text = String(decoding: bytes.prefix(max(0, readCount)), as: UTF8.self)
        let lines = text.split(whereSeparator: \.isNewline).map { Text.oneLine(String($0), limit: Self.lengthLimit) }
        let end = count == Self.size ? ["(only the first \(Self.size >> 20) MiB is kept)"] : []
        return lines.filter { !$0.isEmpty }.suffix(Self.lineLimit) + end
    }
}
