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

/// A plugin library that the judge opened itself, so that what it does at each step can be seen.
@safe
struct ProbedLibrary: @unchecked Sendable {  // … because the handle is never closed, and dlsym(3) is thread-safe
    typealias Entry = @convention(c) (UInt32) -> UnsafePointer<portolan_plugin>?

    let path: String
    private let handle: UnsafeMutableRawPointer

    /// A copy of the library at `path`, which goes with what is returned.
    static func copy(of path: String) throws(CheckSkipped) -> LibraryCopy {
        do throws(LoadError) { return try LibraryCopy(of: path) } catch { throw CheckSkipped.lack(error.message) }
    }

    /// - Throws: in dlopen(3)'s words.
    init(at path: String) throws(CheckSkipped) {
        if let objection = LinkerToken.objection(to: path) { throw CheckSkipped(objection) }
        let location = path.contains("/") ? path : "./" + path
        guard let handle = unsafe dlopen(location, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
            throw CheckSkipped(unsafe dlerror().map { unsafe String(cString: $0) } ?? "no reason was given")
        }
        self.path = path
        unsafe self.handle = handle
    }

    /// Has the library call `function` where it calls the one of this name, for good.
    ///
    /// - Returns: whether it calls it at all.
    func replace(_ name: String, by function: UnsafeMutableRawPointer) -> Bool {
        unsafe portolan_replace_import(handle, name, function) > 0
    }

    /// `nil` where it is no plugin.
    var entry: Entry? {
        guard let symbol = unsafe dlsym(handle, "portolan_plugin_entry") else { return nil }
        return unsafe unsafeBitCast(symbol, to: Entry.self)
    }
}
