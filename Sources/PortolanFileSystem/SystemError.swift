// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A system call that failed, with the reason.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    package let code: Int32

    package init(code: Int32) { self.code = code }

    /// The error of the most recent failed call on this thread.
    package static var last: SystemError { SystemError(code: errno) }

    /// The error of the kernel for a call that does not support this kind of file.
    package static let notRegularFile = SystemError(code: EINVAL)
    package static let existingFile = SystemError(code: EEXIST)
    package static let fileTooLarge = SystemError(code: EFBIG)

    package var meansClosedReader: Bool { code == EPIPE }
    package var meansExistingFile: Bool { code == EEXIST }

    /// strerror(3), which uses a buffer per thread
    package var description: String {
        unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}
