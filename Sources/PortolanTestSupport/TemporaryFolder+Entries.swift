// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Makes entries that are not regular files, and changes files while a reader has them open.
extension TemporaryFolder {
    package struct Failure: Error {
        package let call: String
        package let number: CInt
    }

    package func makeFIFO(_ name: String) throws {
        try Self.check(unsafe mkfifo(path(of: name), 0o600), "mkfifo(3)")
    }

    /// Makes the file of a UNIX socket on which no process listens.
    package func makeSocket(_ name: String) throws {
        let path = path(of: name)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try Self.check(descriptor, "socket(2)")
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { throw Failure(call: "bind(2)", number: ENAMETOOLONG) }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try Self.check(result, "bind(2)")
    }

    package func makeLink(_ name: String, to destination: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path(of: name), withDestinationPath: destination)
    }

    /// Truncates a file, or extends it with a hole.
    package func resize(_ name: String, to size: Int) throws {
        try Self.check(unsafe truncate(path(of: name), off_t(size)), "truncate(2)")
    }

    /// Replaces a file with a new file. A reader that has opened the old file still reads the old contents.
    package func replace(_ name: String, by bytes: some Sequence<UInt8>) throws {
        let new = try write(bytes, to: name + ".new")
        try Self.check(unsafe rename(new, path(of: name)), "rename(2)")
    }

    package func setModificationTime(_ name: String, secondsSince1970: Int) throws {
        let date = Date(timeIntervalSince1970: Double(secondsSince1970))
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path(of: name))
    }

    package func setPermissions(_ name: String, _ mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(of: name))
    }

    private static func check(_ result: CInt, _ call: String) throws {
        if result < 0 { throw Failure(call: call, number: errno) }
    }
}
