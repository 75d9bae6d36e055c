// SPDX-License-Identifier: Apache-2.0

import Portolan

/// The one place where the command opens plugin libraries.
enum PluginLibrary {
    /// The handlers of the library at `path`, in the order in which they are to be asked: the reverse of that of registration.
    static func handlers(at path: String) throws(Failure) -> [any ProtocolHandler] {
        do throws(LoadError) {
            return try Plugin(contentsOf: path).handlers.reversed()
        } catch {
            throw Failure(error)
        }
    }
}
