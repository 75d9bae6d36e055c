// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A place in a library's code.
struct CodePlace: Hashable, Sendable {
    /// The path of the library or program.
    let object: String
    /// From where it is loaded: what the library's own symbols and debug information count from.
    let offset: UInt64
}

/// Functions and lines of places, as addr2line(1) of Debian's binutils reads them in a library's symbols and debug information (DWARF). Without that
/// program, a place is a library and an offset.
///
/// What was asked once is not asked again: one crash is often that of many checks.
struct StackNames {
    private var known: [CodePlace: [StackFrame]] = [:]
    private let program: String

    /// No answer has more bytes, and none takes longer: what is read is a plugin author's file.
    private static let (largestAnswer, patience) = (1 << 18, Duration.seconds(5))

    /// - Parameter program: a name in the PATH, or a path.
    init(program: String = "addr2line") { self.program = program }

    /// The functions at `places`, innermost first. A place in a function that the compiler put into its caller has both.
    mutating func frames(at places: [CodePlace]) -> [StackFrame] {
        var unknown: [String: [CodePlace]] = [:]
        for place in places where known[place] == nil { unknown[place.object, default: []].append(place) }
        for (object, places) in unknown {
            let answers = Self.answers(to: places.map(\.offset), in: answer(on: object, places.map(\.offset)), object)
            for place in places { known[place] = answers[place.offset] ?? [Self.unnamed(place)] }
        }
        return places.flatMap { known[$0] ?? [] }
    }

    private static func unnamed(_ place: CodePlace) -> StackFrame {
        let name = "\(LibraryPath.name(of: place.object))+0x\(String(place.offset, radix: 16))"
        return StackFrame(object: place.object, function: name, file: nil, line: nil)
    }

    /// A line with the offset, then two for each function: its name, and its file and line.
    static func answers(to offsets: [UInt64], in text: String, _ object: String) -> [UInt64: [StackFrame]] {
        var answers: [UInt64: [StackFrame]] = [:]
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        var offset: UInt64?
        while let line = lines.popFirst() {
            if line.hasPrefix("0x"), let number = UInt64(line.dropFirst(2), radix: 16), offsets.contains(number) {
                offset = number
            } else if let offset, let place = lines.popFirst(), line != "??" {
                answers[offset, default: []].append(frame(String(line), place, object))
            }
        }
        return answers
    }

    /// - Parameter place: as in `/home/a/tide.c:42 (discriminator 2)`, or `??:0`.
    private static func frame(_ function: String, _ place: Substring, _ object: String) -> StackFrame {
        let parts = place.prefix { $0 != " " }.split(separator: ":")
        guard parts.count == 2, parts[0] != "??" else { return StackFrame(object: object, function: function, file: nil, line: nil) }
        return StackFrame(object: object, function: function, file: LibraryPath.name(of: String(parts[0])), line: Int(parts[1]))
    }

    /// What the program wrote; nothing where it can't be run.
    private func answer(on object: String, _ offsets: [UInt64]) -> String {
        let words = [program, "-a", "-f", "-C", "-i", "-e", object] + offsets.map { "0x\(String($0, radix: 16))" }
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return "" }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let child = Self.start(words, writingTo: ends[1])
        close(ends[1])
        guard let child else { return "" }
        let text = Self.read(ends[0])
        // It is done, or has had its time.
        kill(child, SIGKILL)
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) < 0, errno == EINTR {}
        return text
    }

    private static func start(_ words: [String], writingTo output: Int32) -> pid_t? {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe []
        for word in words { unsafe arguments.append(strdup(word)) }
        unsafe arguments.append(nil)
        defer { for index in unsafe arguments.indices { unsafe free(arguments[index]) } }
        var child: pid_t = 0
        return unsafe posix_spawnp(&child, words[0], &actions, nil, arguments, environ) == 0 ? child : nil
    }

    private static func read(_ input: Int32) -> String {
        let deadline = MonotonicTime.now + patience
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        while bytes.count < largestAnswer {
            let (seconds, attoseconds) = max(deadline - MonotonicTime.now, .zero).components
            var descriptor = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
            let ready = unsafe poll(&descriptor, 1, Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000))
            if ready == 0 { break }
            let count = unsafe Glibc.read(input, &buffer, buffer.count)
            if count == 0 || (count < 0 && errno != EINTR) { break }
            bytes += buffer[..<max(0, count)]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
