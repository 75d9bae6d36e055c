// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import FoundationEssentials
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A place in a library's code.
struct CodePlace: Hashable, Sendable {
    /// The path of the library; empty for this program, and `?` if the code is in no file.
    let object: String
    /// The address that the library's symbols and debug information use: relative to the load address if they begin at
    /// 0.
    let offset: UInt64
}

/// Finds the functions and lines of places with addr2line(1) of Debian's binutils, which reads symbols and debug
/// information (DWARF). Without that program, a place is a library and an offset.
///
/// Results are cached, because many checks often have the same crash.
struct StackNames {
    private var cachedFrames: [CodePlace: [StackFrame]] = [:]
    private let program: String
    /// The time that remains for all lookups together, because checks wait for them.
    private var timeLeft = Duration.seconds(10)
    /// The libraries whose lookup took too long. They are not looked up again.
    private var slowObjects: Set<String> = []

    /// Limits of the output in bytes, and of the time of one lookup, because the plugin author's file is untrusted.
    private static let (largestOutput, lookupTimeLimit) = (1 << 18, Duration.seconds(3))

    /// - Parameter program: A name in the PATH, or a path.
    init(program: String = "addr2line") { self.program = program }

    /// Looks up the places that are not cached, one library after another.
    mutating func lookUp(_ places: [CodePlace]) {
        var unknownOffsets: [String: [UInt64]] = [:]
        for place in places where cachedFrames[place] == nil && place.object != "?" {
            unknownOffsets[place.object, default: []].append(place.offset)
        }
        for (object, offsets) in unknownOffsets where !slowObjects.contains(object) && timeLeft > .zero {
            let start = MonotonicTime.now
            let path = object.isEmpty ? Self.ownPath : object
            for (offset, frames) in Self.frames(at: offsets, in: output(for: path, offsets), path) {
                cachedFrames[CodePlace(object: object, offset: offset)] = frames
            }
            let time = MonotonicTime.now - start
            timeLeft -= time
            if time >= Self.lookupTimeLimit { slowObjects.insert(object) }
        }
    }

    /// The functions at `places`, innermost first. A place in an inlined function has the function and its caller.
    func frames(at places: [CodePlace]) -> [StackFrame] {
        places.flatMap { place in cachedFrames[place] ?? [Self.unnamed(place)] }
    }

    private static func unnamed(_ place: CodePlace) -> StackFrame {
        let object = place.object.isEmpty ? ownPath : place.object
        return StackFrame(object: object, function: "+0x\(String(place.offset, radix: 16))", file: nil, line: nil)
    }

    /// The path of this program.
    private static let ownPath = {
        // `try?` because a program without a path, such as a file in memory, has no readable names either.
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "?"
    }()

    /// Parses the output of addr2line(1): for each offset a line with the offset, then two lines for each function, its
    /// name, and its file and line.
    static func frames(at offsets: [UInt64], in text: String, _ object: String) -> [UInt64: [StackFrame]] {
        var frames: [UInt64: [StackFrame]] = [:]
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        var offset: UInt64?
        while let line = lines.popFirst() {
            if line.hasPrefix("0x"), let number = UInt64(line.dropFirst(2), radix: 16), offsets.contains(number) {
                offset = number
            } else if let offset, let place = lines.popFirst(), line != "??" {
                frames[offset, default: []].append(frame(String(line), place, object))
            }
        }
        return frames
    }

    /// - Parameter place: For example `/home/a/tide.c:42 (discriminator 2)`, or `??:0`.
    private static func frame(_ function: String, _ place: Substring, _ object: String) -> StackFrame {
        let function = swiftName(of: function)
        let end = place.hasSuffix(")") ? place.ranges(of: " (discriminator ").last?.lowerBound : nil
        let place = place[..<(end ?? place.endIndex)]
        guard let colon = place.lastIndex(of: ":"), place[..<colon] != "??" else {
            return StackFrame(object: object, function: function, file: nil, line: nil)
        }
        let (file, line) = (LibraryPath.name(of: String(place[..<colon])), Int(place[place.index(after: colon)...]))
        return StackFrame(object: object, function: function, file: file, line: line)
    }

    /// The readable form of a mangled Swift name. Other names stay: addr2line(1) knows C++, and not Swift.
    static func swiftName(of name: String) -> String {
        guard name.hasPrefix("$s") || name.hasPrefix("$S"), let readable = unsafe swift_demangle(name, name.utf8.count, nil, nil, 0) else {
            return name
        }
        defer { unsafe free(readable) }
        return unsafe String(cString: readable)
    }

    /// The output of the program; empty if it cannot be run.
    private func output(for object: String, _ offsets: [UInt64]) -> String {
        let commandLine = [program, "-a", "-f", "-C", "-i", "-e", object] + offsets.map { "0x\(String($0, radix: 16))" }
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return "" }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let child = Self.start(commandLine, writingTo: ends[1])
        close(ends[1])
        guard let child else { return "" }
        let text = Self.read(ends[0])
        // The program has ended, or exceeded its time.
        kill(child, SIGKILL)
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) < 0, errno == EINTR {}
        return text
    }

    private static func start(_ commandLine: [String], writingTo output: Int32) -> pid_t? {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe []
        for word in commandLine { unsafe arguments.append(strdup(word)) }
        unsafe arguments.append(nil)
        defer { for index in unsafe arguments.indices { unsafe free(arguments[index]) } }
        var child: pid_t = 0
        return unsafe posix_spawnp(&child, commandLine[0], &actions, nil, arguments, environ) == 0 ? child : nil
    }

    private static func read(_ input: Int32) -> String {
        let deadline = MonotonicTime.now + lookupTimeLimit
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        while bytes.count < largestOutput {
            let remainingTime = max(deadline - MonotonicTime.now, .zero)
            var descriptor = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
            let ready = unsafe poll(&descriptor, 1, Int32(clamping: remainingTime.nanoseconds / 1_000_000))
            if ready == 0 { break }
            let count = unsafe Glibc.read(input, &buffer, buffer.count)
            if count == 0 || (count < 0 && errno != EINTR) { break }
            bytes += buffer[..<max(0, count)]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
