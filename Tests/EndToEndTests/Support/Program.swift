// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Runs the built `portolan` in a temporary folder.
final class Program {
    /// The program beside the test bundle.
    static let executable = (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0]))
        .deletingLastPathComponent().appendingPathComponent("portolan")

    struct Outcome {
        let status: Int32
        let output: Data
        /// The lines on standard error.
        let errors: [String]

        var text: String { String(decoding: output, as: UTF8.self) }
        var lines: [String] { text.split(separator: "\n").map(String.init) }
    }

    /// The current folder of the program.
    let folder: URL

    /// Whether the build uses AddressSanitizer. Some tests do not apply to such a build.
    static let isSanitized = ProcessInfo.processInfo.environment["ASAN_OPTIONS"] != nil

    /// Whether a process of this user can have a file system of its own.
    static let canMount: Bool = {
        let mount = Process()
        mount.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        mount.arguments = ["--mount", "mount", "-t", "tmpfs", "-o", "size=64k", "test", "/mnt"]
        (mount.standardOutput, mount.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        do { try mount.run() } catch { return false }
        mount.waitUntilExit()
        return mount.terminationStatus == 0
    }()

    /// An environment without the user's plugins, policies and proxies: HOME is the program's folder, and the variables
    /// of Portolan, of the XDG folders and of proxies are removed.
    var environment: [String: String] {
        var variables = ProcessInfo.processInfo.environment.filter { name, _ in
            !name.hasPrefix("PORTOLAN_") && !name.hasPrefix("XDG_") && !name.lowercased().hasSuffix("_proxy")
        }
        // Where rustup has put the compiler; it looks in HOME otherwise.
        if let home = variables["HOME"], variables["RUSTUP_HOME"] == nil { variables["RUSTUP_HOME"] = "\(home)/.rustup" }
        variables["HOME"] = folder.path
        return variables
    }

    /// A shell makes commands that it starts with `&` ignore these signals, and programs inherit that. Tests send them.
    private static let interruptsEndPrograms: Void = {
        for number in [SIGINT, SIGQUIT] { _ = signal(number, SIG_DFL) }
    }()

    init() throws {
        Self.interruptsEndPrograms
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Runs the program until it exits.
    func run(_ arguments: String..., input: String = "", with variables: [String: String] = [:]) throws -> Outcome {
        try run(arguments, input: input, with: variables)
    }

    /// - Parameter variables: added to the environment.
    func run(_ arguments: [String], input: String = "", with variables: [String: String] = [:]) throws -> Outcome {
        try run(Self.executable, arguments, input: Data(input.utf8), with: variables)
    }

    /// Runs a shell script in which `$portolan` is the program.
    func runScript(_ script: String) throws -> Outcome {
        try run(URL(fileURLWithPath: "/bin/sh"), ["-c", "portolan='\(Self.executable.path)'; \(script)"], input: Data(), with: [:])
    }

    /// Runs an executable until it exits. Standard input and the outputs are files, so that no process waits for a
    /// pipe.
    func run(_ executable: URL, _ arguments: [String], input: Data, with variables: [String: String]) throws -> Outcome {
        let streams = folder.appendingPathExtension("streams-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: streams, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: streams) }
        let (inputFile, outputFile, errorFile) = (
            streams.appendingPathComponent("in"), streams.appendingPathComponent("out"), streams.appendingPathComponent("err")
        )
        try input.write(to: inputFile)
        for file in [outputFile, errorFile] { try Data().write(to: file) }

        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = environment.merging(variables) { $1 }
        process.standardInput = try FileHandle(forReadingFrom: inputFile)
        process.standardOutput = try FileHandle(forWritingTo: outputFile)
        process.standardError = try FileHandle(forWritingTo: errorFile)
        try process.run()
        process.waitUntilExit()
        let errorText = String(decoding: try Self.contents(of: errorFile), as: UTF8.self)
        return Outcome(
            status: process.terminationStatus, output: try Self.contents(of: outputFile),
            errors: errorText.split(separator: "\n").map(String.init))
    }

    /// Does not use `Data(contentsOf:)`, which leaks its buffer for an empty file.
    private static func contents(of file: URL) throws -> Data {
        try FileHandle(forReadingFrom: file).readToEnd() ?? Data()
    }

    // MARK: Files

    /// Creates a file and its parent folders.
    @discardableResult
    func makeFile(_ name: String, _ text: String = "") throws -> URL {
        let file = folder.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
        return file
    }

    /// Creates a sparse file of zeros.
    func makeLargeFile(_ name: String, size: UInt64) throws -> URL {
        let file = try makeFile(name)
        try FileHandle(forWritingTo: file).truncate(atOffset: size)
        return file
    }

    /// The content of a file in the folder, or `nil` if there is no such file.
    func contents(of name: String) -> String? {
        (try? Self.contents(of: folder.appendingPathComponent(name))).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The names in the folder, including hidden files.
    var files: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }
}
