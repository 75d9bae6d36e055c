// SPDX-License-Identifier: Apache-2.0

import CPortolan
import CPluginObservation
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
    /// The entry function.
    @safe
    struct Entry: @unchecked Sendable {  // … because the contract lets any thread call the function
        fileprivate let function: @convention(c) (UInt32) -> UnsafePointer<portolan_plugin>?
        fileprivate let callLog: CallLog

        func callAsFunction(_ major: UInt32) -> UnsafePointer<portolan_plugin>? {
            unsafe callLog.entering(PluginStep.entry.rawValue) { unsafe function(major) }
        }
    }

    let path: String
    private let instanceContext: InstanceContext
    private let handle: UnsafeMutableRawPointer

    /// A copy of the library at `path`, which is deleted with the returned value.
    static func copy(of path: String) throws(CheckSkipped) -> LibraryCopy {
        do throws(LoadError) { return try LibraryCopy(of: path) } catch { throw CheckSkipped.resourceShortage(error.message) }
    }

    /// - Throws: With the message of dlopen(3).
    init(at path: String, on instanceContext: InstanceContext) throws(CheckSkipped) {
        try instanceContext.steps.require(.dlopen)
        if let objection = LinkerToken.objection(to: path) { throw CheckSkipped(objection) }
        let location = path.contains("/") ? path : "./" + path
        let opened = unsafe instanceContext.callLog.entering(PluginStep.dlopen.rawValue) {
            unsafe dlopen(location, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)
        }
        guard let handle = unsafe opened else {
            throw CheckSkipped(unsafe dlerror().map { unsafe String(cString: $0) } ?? "no reason was given")
        }
        (self.path, self.instanceContext) = (path, instanceContext)
        unsafe self.handle = handle
    }

    /// Permanently redirects the library's calls of the function `name` to `function`.
    ///
    /// - Returns: Whether the library calls it at all.
    func replace(_ name: String, by function: UnsafeMutableRawPointer) -> Bool {
        unsafe portolan_replace_import(handle, name, function) > 0
    }

    /// Calls the library's destructors, as at the end of a program. No code of the library may run after that.
    func callDestructors() { instanceContext.callLog.entering("destructors") { unsafe portolan_call_destructors(handle) } }

    /// The entry function; `nil` if the library is no plugin.
    ///
    /// - Throws: If the function hung in an earlier check.
    var entry: Entry? {
        get throws(CheckSkipped) {
            guard let symbol = unsafe dlsym(handle, "portolan_plugin_entry") else { return nil }
            try instanceContext.steps.require(.entry)
            return unsafe Entry(
                function: unsafeBitCast(symbol, to: (@convention(c) (UInt32) -> UnsafePointer<portolan_plugin>?).self),
                callLog: instanceContext.callLog)
        }
    }
}
