// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The `errno` of a failed system call.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    package let code: Int32

    package init(code: Int32) { self.code = code }

    /// The error of the most recent failed call on this thread.
    package static var last: SystemError { SystemError(code: errno) }

    /// The kernel also uses EINVAL for calls that do not support the kind of file.
    package static let notRegularFile = SystemError(code: EINVAL)
    package static let existingFile = SystemError(code: EEXIST)
    package static let fileTooLarge = SystemError(code: EFBIG)

    package var isBrokenPipe: Bool { code == EPIPE }
    package var isExistingFile: Bool { code == EEXIST }

    /// strerror(3), which uses a buffer per thread
    package var description: String {
        unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}
