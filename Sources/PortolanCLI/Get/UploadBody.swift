// SPDX-License-Identifier: Apache-2.0

import Portolan

/// The body that `-d` names: the text itself, or a file's bytes as they are.
enum UploadBody {
    /// How much is taken into memory of what is no regular file, such as standard input.
    private static let memoryLimit = 1 << 30

    /// - Parameter argument: the data, `@FILE`, or `@-` for standard input.
    static func make(from argument: String) throws(Failure) -> Body {
        guard argument.hasPrefix("@") else { return .text(argument) }
        let path = String(argument.dropFirst())
        do throws(SystemError) {
            let file = path == "-" ? Descriptor.standardInput : try FileSystem.openForReading(path)
            guard path != "-", FileSystem.size(of: file) != nil else { return try wholeBody(of: file, name: path) }
            try file.close()
        } catch {
            throw Failure(.uploadFailed, "cannot read '\(path)': \(error)")
        }
        do throws(LoadError) {
            return try .file(path: path)
        } catch {
            throw Failure(.uploadFailed, "cannot read '\(path)': \(error)")
        }
    }

    private static func wholeBody(of file: Descriptor, name: String) throws(SystemError) -> Body {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= memoryLimit {
            let count = try file.read(into: &buffer)
            guard count > 0 else { return .bytes(bytes) }
            bytes += buffer[..<count]
        }
        throw .fileTooLarge
    }
}
