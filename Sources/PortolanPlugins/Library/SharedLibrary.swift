// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An opened shared library. It is never closed, because Swift's runtime keeps pointers into every library that
/// contains Swift code.
@safe
struct SharedLibrary: @unchecked Sendable {  // … because the handle is never closed, and dlsym(3) is thread-safe
    /// The path as it was given.
    let path: String
    private let handle: UnsafeMutableRawPointer

    /// Opens the current library at `path`, even if another library was opened by that path before. Searches no other
    /// folders.
    ///
    /// - Parameter copying: whether to open a copy, if one can be made, so that the file can be overwritten later.
    /// - Throws: ``LoadError/Code/pluginNotLoadable`` with the problem of the file and how to fix it.
    init(at path: String, copying: Bool = false) throws(LoadError) {
        self.path = path
        if let objection = LinkerToken.objection(to: path) { throw LoadError(library: path, .libraryOpens, objection) }
        // Without a slash, dlopen(3) searches the system's folders.
        let location = path.contains("/") ? path : "./" + path
        let file = try LibraryFile(at: location, calling: path)
        if copying, let copy = file.copyIfPossible() {
            unsafe handle = try Self.open(copy, calling: path)
            return
        }
        try file.check()
        switch LibraryNames.shared.reserveName(for: location, file.identity) {
        case .needsCopy:
            unsafe handle = try Self.open(try file.copy(), calling: path)
        case .name(let name):
            do throws(LoadError) {
                unsafe handle = try Self.open(name, calling: path)
                try file.checkIsUnchanged()
            } catch {
                LibraryNames.shared.forget(file.identity)
                throw error
            }
        }
    }

    private static func open(_ copy: LibraryCopy, calling path: String) throws(LoadError) -> UnsafeMutableRawPointer {
        try LibraryFile(at: copy.path, calling: path).check()
        let handle = unsafe try open(copy.path, calling: path)
        copy.libraryDidOpen()
        return unsafe handle
    }

    private static func open(_ name: String, calling path: String) throws(LoadError) -> UnsafeMutableRawPointer {
        if let handle = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) { return unsafe handle }
        let reason = lastError.replacing(name, with: path)
        throw LoadError(library: path, .libraryOpens, "it can't be opened: \(reason); build it against the libraries of this system")
    }

    func symbol(_ name: String) -> UnsafeMutableRawPointer? {
        unsafe dlsym(handle, name)
    }

    private static var lastError: String {
        guard let text = unsafe dlerror() else { return "no reason was given" }
        return unsafe Text.oneLine(String(cString: text), limit: 1024)
    }
}

extension LoadError {
    /// The error for a library that cannot be used as a plugin: the library, the rule and the reason.
    init(library path: String, _ rule: ContractRule, _ detail: String) {
        self.init(.pluginNotLoadable, message: Text.oneLine("\(rule.id): the plugin library '\(path)' can't be used: \(detail)"))
    }
}
