// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Output options whose path leads to an open descriptor, a FIFO or a device.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetDescriptorTests {
    private let program: Program

    init() throws {
        program = try Program()
        try program.makeFile("log", "old\n")
        for (name, destination) in [("link", "/dev/stdout"), ("second", "link"), ("folder", "/dev/fd"), ("trace.json", "/dev/fd/3")] {
            try FileManager.default.createSymbolicLink(
                atPath: program.folder.appendingPathComponent(name).path, withDestinationPath: destination)
        }
    }

    @Test(arguments: [
        "/dev/stdout", "/dev/fd/1", "/dev/../dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", "/proc/self/../self/fd/1",
        "/proc/$$/fd/1", "/proc/$$/task/$$/fd/1", "link", "./second", "folder/1",
    ])
    func bodyIsAppendedIfTheDescriptorAppends(path: String) throws {
        let outcome = try program.runScript(#"sh -c 'exec "$0" get -o \#(path) data:,new' "$portolan" >>log"#)
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(program.contents(of: "log") == "old\nnew")
        #expect(try program.files == ["folder", "link", "log", "second", "trace.json"])
    }

    @Test func outputStartsAtTheOffsetOfTheDescriptor() throws {
        let script = #"{ printf a; "$portolan" get -o /dev/stdout data:,b; printf c; "$portolan" get -i -o /dev/fd/1 data:,d; } >log"#
        #expect(try program.runScript(script).status == 0)
        #expect(program.contents(of: "log")?.hasPrefix("abc") == true && program.contents(of: "log")?.hasSuffix("\n\nd") == true)
    }

    @Test func otherDescriptorsCanBeOutputs() throws {
        #expect(try program.runScript(#""$portolan" get -o /dev/stderr data:,one 2>>log"#).status == 0)
        #expect(try program.runScript(#"exec 7>>log; "$portolan" get -o /dev/fd/7 data:,two"#).status == 0)
        #expect(try program.runScript(#"exec 7>>log; "$portolan" get -o /proc/$$/fd/7 data:,three; exit $?"#).status == 0)
        #expect(program.contents(of: "log") == "old\nonetwothree")
        #expect(try program.runScript(#""$portolan" get -o /dev/fd/5 data:,pipe 5>&1 >log | cat"#).text == "pipe")
    }

    @Test func unlinkedFileCanBeTheOutput() throws {
        let outcome = try program.runScript(
            #"exec 7>gone 8<gone; rm gone; "$portolan" get -o /dev/fd/7 data:,body && cat <&8; ls -A | grep -c gone"#)
        #expect(outcome.text == "body0\n")
    }

    @Test func closedDescriptorIsAnErrorBeforeTheLoad() throws {
        let outcome = try program.runScript(#""$portolan" get -v -o /dev/fd/9 data:,x 9>&-"#)
        #expect(outcome.status == 23)
        #expect(
            outcome.errors.last
                == "portolan: cannot write to '/dev/fd/9': descriptor 9 is not open; open it in the shell, as in '9>file'")
        let reading = try program.runScript(#""$portolan" get -o /dev/fd/9 data:,x 9<log"#)
        #expect(reading.status == 23 && reading.errors.first?.contains("descriptor 9 is not open for writing") == true)
        let closed = try program.runScript(#""$portolan" get -o /dev/stdout data:,x >&-"#)
        #expect(closed.status == 23 && closed.errors.count == 1)
        let trace = try program.runScript(#""$portolan" get --trace trace.json data:,x 3>&-"#)
        #expect(trace.status == 23 && trace.text.isEmpty)
    }

    /// The descriptors of connections and event loops must not be usable as outputs.
    @Test func descriptorsOfTheProgramCannotBeOutputs() throws {
        let outcome = try program.runScript(
            #"""
            exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
            for number in 3 4 5 6 7 8 9; do "$portolan" get --connect-timeout 5 -o /dev/fd/$number http://127.0.0.1:1/ 2>&1; echo $?; done
            """#)
        #expect(outcome.lines.filter { $0 == "23" }.count == 7, "\(outcome.lines)")
    }

    @Test func traceIsWrittenToTheDescriptor() throws {
        let outcome = try program.runScript(#""$portolan" get --trace trace.json data:,x 3>>log"#)
        #expect(outcome.status == 0 && outcome.text == "x", "\(outcome.errors)")
        let log = try #require(program.contents(of: "log"))
        #expect(log.hasPrefix("old\n"))
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(log.utf8.dropFirst(4))) }
        #expect(try program.files.contains("trace.json"))
    }

    @Test func traceIsWrittenToAFIFO() throws {
        let outcome = try program.runScript(#"mkfifo t.json; "$portolan" get -o body --trace t.json data:,x & timeout 60 cat t.json; wait"#)
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: outcome.output) }
    }

    @Test(arguments: ["fill", "record"])
    func recordingToADescriptorIsRefused(mode: String) throws {
        let outcome = try program.runScript(
            #"ln -s /dev/stdout r.har; "$portolan" get -o body --replay r.har --replay-mode \#(mode) data:,x >>log"#)
        #expect(outcome.status == (mode == "fill" ? 37 : 23), "\(outcome.errors)")
        #expect(program.contents(of: "log") == "old\n")
    }

    @Test func automaticResumeIsRefusedForAStream() throws {
        let outcome = try program.runScript(#""$portolan" get -C - -o /dev/stdout data:,new >>log"#)
        #expect(outcome.status == 23 && outcome.errors.first?.contains("-C OFFSET") == true)
        let source = try program.makeFile("source", "hello world")
        #expect(try program.runScript("\"$portolan\" get -C 6 -o /dev/stdout '\(source.absoluteString)' >>log").status == 0)
        #expect(program.contents(of: "log") == "old\nworld")
    }

    @Test(arguments: ["-", "/dev/stdout", "/dev/fd/1"])
    func eventsAndBodyCannotUseTheSameStream(path: String) throws {
        let outcome = try program.run("get", "--events", "-o", path, "data:,x")
        #expect(outcome.status == 2 && outcome.output.isEmpty)
    }

    @Test func closedStandardOutputIsAnError() throws {
        let source = try program.makeFile("source", "text")
        let outcome = try program.runScript("\"$portolan\" get '\(source.absoluteString)' >&-")
        #expect(outcome.status == 23)
        #expect(outcome.errors == ["portolan: writing to standard output failed: Bad file descriptor"])
    }
}
