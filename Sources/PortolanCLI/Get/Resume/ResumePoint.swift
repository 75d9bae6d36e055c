// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Portolan
import PortolanFileSystem

/// The offset at which `-C` resumes.
enum ResumePoint: ExpressibleByArgument, Equatable {
    /// `-`: the end of the existing file.
    case endOfFile
    case byte(Int64)

    init?(argument: String) {
        if argument == "-" {
            self = .endOfFile
        } else if let offset = Int64(argument), offset >= 0 {
            self = .byte(offset)
        } else {
            return nil
        }
    }

    /// Returns the description of a load that continues the file.
    ///
    /// - Parameter isCoded: whether the file contains content-coded bytes.
    func resume(of place: ResumedFile.Place, isCoded: Bool) throws(Failure) -> Resume {
        let path = place.path
        let (size, validator): (Int64, String?)
        do throws(SystemError) {
            (size, validator) = try Self.sizeAndValidator(of: place)
        } catch {
            throw Failure(.writeFailed, "cannot read '\(path)': \(error)")
        }
        if case .byte(let offset) = self, offset != size {
            guard offset > size else {
                throw Failure(.writeFailed, "'\(path)' has \(size) bytes, so byte \(offset) is not the next one; write '-C -'")
            }
            // As in curl, the bytes from the offset on follow those of a shorter file.
            return Resume(offset: offset, validator: nil, isCoded: isCoded, gap: offset - size)
        }
        return Resume(offset: size, validator: validator, isCoded: isCoded)
    }

    private static func sizeAndValidator(of place: ResumedFile.Place) throws(SystemError) -> (size: Int64, validator: String?) {
        guard FileSystem.kind(at: place.path) != nil else { return (0, nil) }
        let file = try FileSystem.openForReading(place.path, followsLinks: place.followsLinks)
        let (size, validator) = (FileSystem.size(of: file), FileSystem.attribute(FileSystem.continuationAttribute, of: file))
        try file.close()
        guard let size else { throw .notRegularFile }
        // Another program can have written any text to the attribute.
        return (size, validator.flatMap { HTTPField.isValidValue($0) ? $0 : nil })
    }
}
