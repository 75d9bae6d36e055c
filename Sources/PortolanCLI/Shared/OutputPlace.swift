// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import PortolanFileSystem

/// The destination of an output option, such as `-o`, `-c`, `-D` and `--trace`.
///
/// The destination is resolved while the command line is parsed, before the program opens files itself. So a number in
/// `/dev/fd` cannot mean a descriptor that the program has opened.
struct OutputPlace: ExpressibleByArgument, Sendable {
    enum Kind: Sendable {
        case stream(StreamTarget)
        /// A regular file, which a complete new file replaces. It can be missing.
        case file
    }

    let path: String
    /// The kind of the destination, or the reason why the program cannot write to it.
    let kind: Result<Kind, Failure>

    /// Whether the path names a descriptor, a FIFO or a device.
    var isStream: Bool {
        if case .success(.stream) = kind { true } else { false }
    }

    init(argument path: String) {
        self.path = path
        kind = Result { () throws(Failure) in try Self.kind(of: path) }
    }

    private static func kind(of path: String) throws(Failure) -> Kind {
        if let descriptorPath = DescriptorPath(path) {
            return .stream(
                descriptorPath.isOwn ? .descriptor(try copyOfInheritedDescriptor(descriptorPath.number, path)) : .path(path, appends: true))
        }
        switch FileSystem.kind(at: path) {
        case .special: return .stream(.path(path, appends: false))
        case .directory: throw Failure(.writeFailed, "'\(path)' is a directory; name a file in it")
        case .regular, nil: return .file
        }
    }

    /// Returns a copy of a descriptor that was open when the program started. The copy stays valid if the number is
    /// closed and used again.
    private static func copyOfInheritedDescriptor(_ number: Int32, _ path: String) throws(Failure) -> Descriptor {
        let original = Descriptor(number: number)
        guard original.isInherited, original.isWritable else {
            throw Failure(
                .writeFailed,
                "cannot write to '\(path)': descriptor \(number) is not open\(original.isInherited ? " for writing" : ""); "
                    + "open it in the shell, as in '\(number)>file'")
        }
        do throws(SystemError) {
            return try original.copy()
        } catch {
            throw Failure(.writeFailed, "cannot write to '\(path)': \(error)")
        }
    }

    /// Writes all the bytes.
    ///
    /// - Parameter isPrivate: whether only the owner can read a regular file that this call writes.
    func write(_ bytes: [UInt8], isPrivate: Bool) throws(Failure) {
        switch try kind.get() {
        case .file: try PartialFile.writeForCommand(bytes, to: path, isPrivate: isPrivate)
        case .stream(let target):
            do throws(SystemError) {
                let descriptor = try target.open()
                try descriptor.write(all: bytes)
                try descriptor.close()
            } catch {
                throw Failure(writing: "'\(path)'", error)
            }
        }
    }
}

/// A target that gets bytes when they arrive, in contrast to a file that a complete new file replaces.
enum StreamTarget: Sendable {
    /// A descriptor that was open when the program started. It gets the bytes at its offset or, in append mode, at the
    /// end of the file.
    case descriptor(Descriptor)
    /// A FIFO or a device. With `appends`, an open file of another process, which gets the bytes at its end.
    case path(String, appends: Bool)

    func open() throws(SystemError) -> Descriptor {
        switch self {
        case .descriptor(let descriptor): descriptor
        case .path(let path, let appends): try FileSystem.openForWriting(path, appends: appends)
        }
    }
}
