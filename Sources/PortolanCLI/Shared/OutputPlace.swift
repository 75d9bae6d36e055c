// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The destination of an output option. Every option that writes a file uses this type.
///
/// The destination is resolved while the command line is parsed, before the program opens anything itself. So a
/// descriptor number that was not open at the start cannot refer to a descriptor that the program opened later.
struct OutputPlace: ExpressibleByArgument, Sendable {
    enum Kind: Sendable {
        case stream(StreamTarget)
        /// A regular file, which a complete new one will replace, or a name that does not exist yet.
        case file
    }

    let path: String
    /// The kind, or the reason why the path is not writable.
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
        if let named = DescriptorPath(path) {
            return .stream(named.isOwn ? .descriptor(try inherited(named.number, path)) : .path(path, appends: true))
        }
        switch FileSystem.kind(at: path) {
        case .special: return .stream(.path(path, appends: false))
        case .directory: throw Failure(.writeFailed, "'\(path)' is a directory; name a file in it")
        case .regular, nil: return .file
        }
    }

    /// Returns a copy of a descriptor that was open when the program started; the copy keeps the number from being
    /// reused later.
    private static func inherited(_ number: Int32, _ path: String) throws(Failure) -> Descriptor {
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

    /// Writes all the bytes at once.
    ///
    /// - Parameter isPrivate: whether only the owner may read a written file.
    func write(_ bytes: [UInt8], isPrivate: Bool) throws(Failure) {
        switch try kind.get() {
        case .file: try PartialFile.write(bytes, to: path, isPrivate: isPrivate)
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

/// A target that receives bytes as they arrive. It is never removed or replaced.
enum StreamTarget: Sendable {
    /// A descriptor that was open when the program started. Bytes go to its offset or, in append mode, to its end.
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
