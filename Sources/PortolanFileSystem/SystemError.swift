// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A system call that failed, with the reason.
struct SystemError: Error, Equatable, CustomStringConvertible {
    let code: Int32

    /// The error of the most recent failed call on this thread.
    static var last: SystemError { SystemError(code: errno) }

    /// The error of the kernel for a call that does not support this kind of file.
    static let notRegularFile = SystemError(code: EINVAL)
    static let fileTooLarge = SystemError(code: EFBIG)

    var meansClosedReader: Bool { code == EPIPE }
    var meansExistingFile: Bool { code == EEXIST }

    /// strerror(3), which uses a buffer per thread
    var description: String {
        unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}
