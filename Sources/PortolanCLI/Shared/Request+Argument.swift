// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore

extension Request {
    /// Makes a request for a URL from the command line. For a path, the error shows how to write it as a URL.
    init(argument: String) throws(Failure) {
        do throws(LoadError) {
            try self.init(argument)
        } catch {
            guard ["/", "./", "../"].contains(where: argument.hasPrefix) else { throw Failure(error) }
            let path = FileSystem.resolved(argument) ?? argument
            let proposal = path.hasPrefix("/") ? "'file://\(PercentEncoding.encodePath(path))'" : "'file://' and its absolute path"
            throw Failure(
                error,
                message:
                    "'\(UserInformation.removed(from: argument, includingReferences: true))' is not a URL; for a file, write \(proposal)")
        }
    }
}
