// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Where the path of an output option leads. Every option that writes a file takes one.
///
/// It is found out when the command line is parsed, before the program itself opens anything: so a number that nobody opened for the
/// program is not confused with a descriptor of its own.
struct OutputPlace: ExpressibleByArgument, Sendable {
    enum Kind: Sendable {
        case stream(StreamTarget)
        /// A regular file, which is replaced by a new one when that is whole; or a name that nothing has yet.
        case file
    }

    let path: String
    /// A failure where nothing can be written there.
    let kind: Result<Kind, Failure>

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

    /// A copy of a descriptor that the program was started with, so that the number is taken from now on.
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

    /// Writes all of it at once.
    ///
    /// - Parameter isPrivate: only the owner may read a file that is written.
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

/// What is written to as the bytes come. Nothing of it is removed or replaced.
enum StreamTarget: Sendable {
    /// Was open when the program started: it is written to at its offset or, in append mode, to its end.
    case descriptor(Descriptor)
    /// A FIFO or a device; with `appends` what another process has open, which gets the bytes at its end.
    case path(String, appends: Bool)

    func open() throws(SystemError) -> Descriptor {
        switch self {
        case .descriptor(let descriptor): descriptor
        case .path(let path, let appends): try FileSystem.openForWriting(path, appends: appends)
        }
    }
}
