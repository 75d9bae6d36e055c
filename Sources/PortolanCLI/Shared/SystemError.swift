// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A system call that failed, with the reason.
struct SystemError: Error, Equatable, CustomStringConvertible {
    let code: Int32

    /// The error of the call that failed just now on this thread.
    static var last: SystemError { SystemError(code: errno) }

    /// What the kernel says where a call is not for files of this kind.
    static let notRegularFile = SystemError(code: EINVAL)
    static let fileTooLarge = SystemError(code: EFBIG)

    var isReaderGone: Bool { code == EPIPE }
    var isExisting: Bool { code == EEXIST }

    /// strerror(3), which uses a buffer of the thread's own
    var description: String {
        unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}
