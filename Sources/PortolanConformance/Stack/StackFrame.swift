// SPDX-License-Identifier: Apache-2.0

import PortolanPlugins

/// A function on a stack. Unknown parts are `nil`.
struct StackFrame: Hashable, Sendable {
    /// The path of the library or program.
    let object: String?
    let function: String?
    let file: String?
    let line: Int?
}

extension StackFrame {
    /// For example `hold (tide.c:42)`, or `hold (in libtide.so)` without debug information.
    var phrase: String {
        let name = function ?? "???"
        let place = file.map { "\($0)\(line.map { ":\($0)" } ?? "")" } ?? object.map { "in \(LibraryPath.name(of: $0))" }
        // The names come from the plugin's compiler, so they are made one line.
        return Text.oneLine(place.map { "\(name) (\($0))" } ?? name, limit: 300)
    }

    /// Whether the function belongs to the part of a language's runtime that ends a process: after abort(3), a panic in
    /// Rust, or an exception in C++ that nobody catches. A plugin in Rust contains this part.
    var endsProcess: Bool {
        guard let function else { return false }
        return Self.functionsThatEndTheProcess.contains(function) || Self.namesOfRuntimes.contains(where: function.hasPrefix)
    }

    private static let functionsThatEndTheProcess: Set = [
        "abort", "__GI_abort", "raise", "__GI_raise", "gsignal", "pthread_kill", "__pthread_kill_implementation", "__assert_fail",
        "__assert_fail_base",
    ]
    /// The starts of the names of such functions.
    private static let namesOfRuntimes = [
        "_Unwind_", "std::terminate", "__cxa_", "__cxxabiv1::", "__gnu_cxx::__verbose_terminate_handler", "rust_begin_unwind", "rust_panic",
        "__rust_", "core::panicking::",
        "std::panicking::", "std::panic::", "std::process::abort", "std::sys::", "std::sys_common::", "core::option::expect_failed",
        "core::option::unwrap_failed", "core::result::unwrap_failed",
    ]
}

enum LibraryPath {
    static func name(of path: String) -> String { String(path.split(separator: "/").last ?? "") }

    /// Whether a library of that name works for its caller: Valgrind's own libraries, the dynamic linker, the parts of
    /// glibc, and GCC's additions. Some of them are opened only when they are needed.
    static func isOfSystem(_ name: String) -> Bool { systemNames.contains(where: name.hasPrefix) }

    /// Whether a library of that name belongs to Swift's runtime, Foundation included.
    static func isOfSwift(_ name: String) -> Bool {
        ["libswift", "libFoundation", "lib_Foundation", "libdispatch.", "libBlocksRuntime."].contains(where: name.hasPrefix)
    }

    private static let systemNames = [
        "vgpreload_", "ld-linux", "libc.", "libm.", "libpthread.", "libdl.", "librt.", "libresolv.", "libnss_", "libgcc_s.", "libstdc++.",
    ]
}
