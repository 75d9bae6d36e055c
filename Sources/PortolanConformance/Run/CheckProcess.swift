// SPDX-License-Identifier: Apache-2.0

import CThreadTrace
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One check in a process of its own, made by `fork(2)`: what the plugin does to it, it does to nothing else.
struct CheckProcess: ~Copyable {
    let check: ConformanceCheck
    private let process: pid_t
    /// Where the child writes its result, and a handler of signals the stack.
    let output: Int32
    private let journal: Journal
    private let memcheck: MemcheckRun?
    private let start = MonotonicTime.now
    private let deadline: Duration
    private(set) var received: [UInt8] = []
    private(set) var isOver = false
    private(set) var wasEnded = false

    /// No result has more bytes.
    private static let largestOutput = 1 << 20

    private init(_ judge: Judge, _ check: ConformanceCheck, _ process: pid_t, _ output: Int32, _ journal: Journal) {
        (self.check, self.process, self.output, self.journal, memcheck) = (check, process, output, journal, judge.memcheck)
        deadline = start + judge.timeLimit
    }

    /// - Throws: where no process can be made.
    static func started(_ judge: Judge, _ check: ConformanceCheck) throws(Unjudged) -> CheckProcess {
        let journal = try Journal()
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw Unjudged("no pipe can be made (errno \(errno))") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let child = fork()
        guard child >= 0 else {
            for end in ends { close(end) }
            throw Unjudged("no process can be made (errno \(errno))")
        }
        if child == 0 {
            close(ends[0])
            beChild(judge, check, journal, ends[1])
        }
        close(ends[1])
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return CheckProcess(judge, check, child, ends[0], journal)
    }

    /// The child: makes the check, writes the result, and is gone without more of the plugin's code being called.
    private static func beChild(_ judge: Judge, _ check: ConformanceCheck, _ journal: Journal, _ output: Int32) -> Never {
        // Its own group, so that what the plugin starts can be ended with it.
        setpgid(0, 0)
        _ = portolan_end_with_parent()
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] { dup2(null, number) }
        close(null)
        // On a thread that has begun in this process: Swift's Mutex notes the number of a thread at its first use, and this one's is the parent's.
        do throws(LoadError) {
            try PlatformThread.start(stackSize: 8 << 20) { makeCheck(judge, check, journal, output) }
        } catch {
            write(CheckResult(check.rule, .skipped, note: error.message), to: output)
        }
        // What is sent to the process is the other's to hear.
        var signals = sigset_t()
        unsafe sigfillset(&signals)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        while true { pause() }
    }

    private static func makeCheck(_ judge: Judge, _ check: ConformanceCheck, _ journal: Journal, _ output: Int32) {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe pthread_sigmask(SIG_SETMASK, &signals, nil)
        // A handler, where it is ignored by now: a plugin that has it ignored changes something then. What is built in may, by SwiftNIO.
        if judge.subject.library != nil { signal(SIGPIPE) { _ in } }
        CrashReport.arm(output)
        write(judge.result(of: check, journal), to: output)
    }

    private static func write(_ result: CheckResult, to output: Int32) -> Never {
        var rest = result.childBytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(output, $0.baseAddress, $0.count) }
            if count <= 0 { _exit(3) }
            rest = rest.dropFirst(count)
        }
        _exit(0)
    }

    /// How long until its time is up.
    var timeLeft: Duration { deadline - MonotonicTime.now }

    /// Takes what the child has written; notes when that is all.
    mutating func read() {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe Glibc.read(output, &buffer, buffer.count)
            if count > 0 {
                if received.count < Self.largestOutput { received += buffer[..<count] }
                // A result is whole with its line: what the plugin has started may hold the pipe open for good.
                if received.first == UInt8(ascii: "{"), received.last == 0x0A { isOver = true }
            } else {
                if count == 0 || (errno != EAGAIN && errno != EINTR) { isOver = true }
                return
            }
        }
    }

    /// Ends the process where its time is up.
    mutating func endIfLate() {
        guard !isOver, timeLeft <= .zero else { return }
        end()
    }

    /// Ends the process, and those that it started.
    mutating func end() {
        kill(-process, SIGKILL)
        kill(process, SIGKILL)
        (isOver, wasEnded) = (true, true)
    }

    /// What came of it, once it is over.
    mutating func result() -> CheckResult {
        let status = statusAtEnd()
        // What the plugin may have started.
        kill(-process, SIGKILL)
        close(output)
        let time = MonotonicTime.now - start
        var result = verdict(status)
        result.duration = time
        result.memory = memcheck?.log(of: process)
        // Of a check that came to its end, those of what it found.
        if result.verdict == .crashed || result.verdict == .hung { result.lastEvents = journal.lines }
        return result
    }

    /// Waits for the process, and ends it where its time is up: a plugin that closes what is not its own closes the pipe, too, and runs on.
    private mutating func statusAtEnd() -> Int32 {
        var status: Int32 = 0
        while true {
            let ended = unsafe waitpid(process, &status, WNOHANG)
            if ended == process || (ended < 0 && errno != EINTR) { return status }
            if !wasEnded, timeLeft <= .zero { end() }
            usleep(500)
        }
    }

    private func verdict(_ status: Int32) -> CheckResult {
        if let result = CheckResult(childBytes: received, check.rule) { return result }
        let (reported, what, stack) = CrashReport.read(received)
        if wasEnded, reported == nil {
            let time = Words.time(MonotonicTime.now - start)
            return CheckResult(check.rule, .hung, note: "it was ended after \(time)\(JournalLine.place(after: journal.lines))")
        }
        let signal = reported ?? (status & 0x7F)
        let name = signal == 0 ? "the process ended itself with status \((status >> 8) & 0xFF)" : "ended by \(CrashReport.name(of: signal))"
        var result = CheckResult(check.rule, .crashed, note: [name, what].compactMap { $0 }.joined(separator: ", "))
        result.crashStack = stack
        return result
    }
}
