// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A shared library that was opened, and is never closed: Swift's runtime keeps pointers into every library that holds Swift code.
@safe
struct SharedLibrary: @unchecked Sendable {  // … because the handle is never closed, and dlsym(3) is thread-safe
    /// As it was given.
    let path: String
    private let handle: UnsafeMutableRawPointer

    /// Opens the library at `path`, which is looked for nowhere else.
    ///
    /// - Throws: ``LoadError/Code/pluginNotLoadable``: what is wrong with the file and how to mend it.
    init(at path: String) throws(LoadError) {
        self.path = path
        try Self.check(path)
        // Without a slash, dlopen(3) would search the system's folders.
        let location = path.contains("/") ? path : "./" + path
        guard let handle = unsafe dlopen(location, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
            throw LoadError(library: path, .libraryOpens, "it does not open: \(Self.lastError); build it against what this system has")
        }
        unsafe self.handle = handle
    }

    func symbol(_ name: String) -> UnsafeMutableRawPointer? {
        unsafe dlsym(handle, name)
    }

    private static var lastError: String {
        guard let text = unsafe dlerror() else { return "no reason was given" }
        return unsafe Text.oneLine(String(cString: text), limit: 1024)
    }

    /// Says in plain words what dlopen(3) would say darkly.
    private static func check(_ path: String) throws(LoadError) {
        let start: [UInt8]
        do throws(Errno) {
            start = try readStart(of: path, count: ELFHeader.length)
        } catch {
            throw LoadError(library: path, .libraryOpens, "it can't be read: \(error.description); check the path and its permissions")
        }
        guard let header = ELFHeader(start) else {
            throw LoadError(library: path, .libraryOpens, "it is no shared library (ELF); give the path of the compiled plugin")
        }
        if let expected = ELFHeader.ofThisProcess, header != expected {
            throw LoadError(
                library: path, .libraryOpens, "it is built for \(header), and this program for \(expected); compile it for this machine")
        }
    }

    private static func readStart(of path: String, count: Int) throws(Errno) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Errno(value: errno) }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: count)
        let length = unsafe read(descriptor, &bytes, count)
        guard length >= 0 else { throw Errno(value: errno) }
        return Array(bytes.prefix(length))
    }

    /// errno(3), in the system's words.
    private struct Errno: Error, CustomStringConvertible {
        let value: Int32
        var description: String { unsafe String(cString: strerror(value)) }
    }
}

extension LoadError {
    /// A library that can't be used as a plugin: which, by which rule, and why.
    init(library path: String, _ rule: ContractRule, _ detail: String) {
        self.init(.pluginNotLoadable, message: Text.oneLine("\(rule.id): the plugin library '\(path)' can't be used: \(detail)"))
    }
}
