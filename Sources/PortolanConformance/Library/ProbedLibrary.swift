// SPDX-License-Identifier: Apache-2.0

import CPortolan
import CThreadTrace
import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A plugin library that the runner opened itself, so that each step can be observed.
@safe
struct ProbedLibrary: @unchecked Sendable {  // … because the handle is never closed, and dlsym(3) is thread-safe
    typealias Entry = @convention(c) (UInt32) -> UnsafePointer<portolan_plugin>?

    let path: String
    private let handle: UnsafeMutableRawPointer

    /// A copy of the library at `path`, which is deleted with the returned value.
    static func copy(of path: String) throws(CheckSkipped) -> LibraryCopy {
        do throws(LoadError) { return try LibraryCopy(of: path) } catch { throw CheckSkipped.resourceShortage(error.message) }
    }

    /// - Throws: With the message of dlopen(3).
    init(at path: String) throws(CheckSkipped) {
        if let objection = LinkerToken.objection(to: path) { throw CheckSkipped(objection) }
        let location = path.contains("/") ? path : "./" + path
        guard let handle = unsafe dlopen(location, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
            throw CheckSkipped(unsafe dlerror().map { unsafe String(cString: $0) } ?? "no reason was given")
        }
        self.path = path
        unsafe self.handle = handle
    }

    /// Permanently redirects the library's calls of the function `name` to `function`.
    ///
    /// - Returns: Whether the library calls it at all.
    func replace(_ name: String, by function: UnsafeMutableRawPointer) -> Bool {
        unsafe portolan_replace_import(handle, name, function) > 0
    }

    /// The entry function; `nil` if the library is no plugin.
    var entry: Entry? {
        guard let symbol = unsafe dlsym(handle, "portolan_plugin_entry") else { return nil }
        return unsafe unsafeBitCast(symbol, to: Entry.self)
    }
}
