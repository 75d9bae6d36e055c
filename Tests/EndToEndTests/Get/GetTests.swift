// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

@Suite(.blocking) struct GetTests {
    private let program: Program

    init() throws { program = try Program() }

    @Test func onlyTheBodyIsPrinted() throws {
        let outcome = try program.run("get", "data:text/plain;charset=utf-8;base64,UG9ydG9sYW4=")
        #expect(outcome.text == "Portolan")
        #expect(outcome.errors.isEmpty)
        #expect(outcome.status == 0)
    }

    @Test func bytesAreNotChanged() throws {
        #expect(try program.run("get", "data:,%00%ff%0D%0A").output == Data([0x00, 0xFF, 0x0D, 0x0A]))
    }

    @Test func wholeFileIsPrinted() throws {
        let text = String(repeating: "0123456789", count: 100_000)
        let file = try program.makeFile("big file", text)
        #expect(try program.run("get", file.absoluteString).text == text)
    }

    @Test func severalURLsAreLoadedOneAfterAnother() throws {
        let outcome = try program.run("get", "data:,a", "nosuch:x", "data:,b", "http://a b", "data:,c")
        #expect(outcome.text == "abc")
        #expect(outcome.status == 1)
        #expect(outcome.errors.count == 2)
    }

    @Test func headIsPrintedBeforeTheBody() throws {
        #expect(
            try program.run("get", "-i", "data:text/html,x").text == "200 OK\ncontent-type: text/html\ncontent-length: 1\n\nx")
        #expect(try program.run("get", "-I", "data:text/html,xyz").text == "200 OK\ncontent-type: text/html\ncontent-length: 3\n\n")
    }

    /// `fixture://good` delivers 4 bytes for every method.
    @Test func bodyOfAResponseToHEADIsDiscarded() throws {
        let library = try program.copyFixture("fixture.so")
        let head = "content-type: text/plain\ncontent-length: 4\n\n"
        #expect(try program.run("get", "-I", "--plugin", library, "fixture://good").text == head)
        #expect(try program.run("get", "-I", "-X", "GET", "--plugin", library, "fixture://good").text == head)
        #expect(try program.run("get", "-I", "-o", "out", "--plugin", library, "fixture://good").output.isEmpty)
        #expect(program.contents(of: "out") == head)
        let events = try program.run("get", "--events", "-X", "HEAD", "--plugin", library, "fixture://good").lines
        #expect(events.count == 3 && !events.contains { $0.contains(#""data""#) }, "\(events)")
        let response = try program.run("stdio", "--plugin", library, input: #"{"url":"fixture://good","method":"HEAD"}"#).text
        #expect(
            response.contains(#""headers":[["content-type","text/plain"],["content-length","4"]],"body":"","bodyBase64":null"#),
            "\(response)")
    }

    @Test func verboseOutputGoesToStandardErrorOnly() throws {
        let outcome = try program.run("get", "-v", "data:,x")
        #expect(outcome.text == "x")
        #expect(outcome.errors.contains("* handler: org.portolan.data"))
        #expect(outcome.errors.contains("< content-type: text/plain;charset=US-ASCII"))
        #expect(outcome.errors.last?.hasPrefix("* 1 byte, 0 redirects, finished after ") == true)
    }

    @Test func closedPipeEndsTheProgramSilently() throws {
        let file = try program.makeLargeFile("big", size: 1 << 40)  // no test waits until a terabyte is read
        let outcome = try program.runScript(#"{ "$portolan" get '\#(file.absoluteString)'; echo $? > status; } | head -c 10 | wc -c"#)
        #expect(outcome.text.trimmingCharacters(in: .whitespaces) == "10\n")
        #expect(program.contents(of: "status") == "23\n")
        #expect(outcome.errors.isEmpty)
    }

    @Test func timeLimitEndsALoadWhoseOutputIsNotRead() throws {
        let file = try program.makeLargeFile("big", size: 1 << 40)
        let outcome = try program.runScript(
            #"mkfifo held; exec 3<>held; "$portolan" get --max-time 0.1 '\#(file.absoluteString)' >&3; echo $?"#)
        #expect(outcome.text == "28\n")
        #expect(outcome.errors.count == 1)
    }
}
