// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// FIFOs and links where the program expects a file. The program waits for the other end of a FIFO only until its time
/// limit, and never writes outside the folder.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetSpecialFileTests {
    private let program: Program

    init() throws { program = try Program() }

    /// timeout(1) ends a hanging command with status 124.
    private func run(_ arguments: String, after preparation: String) throws -> Program.Outcome {
        try program.runScript(#"\#(preparation); timeout 60 "$portolan" get \#(arguments)"#)
    }

    @Test(arguments: ["mkfifo name", "ln -s fifo name; mkfifo fifo", "mkdir name", "ln -s /dev/null name"])
    func onlyARegularFileIsResumed(preparation: String) throws {
        let outcome = try run("-O -C - file:///nosuch/name", after: preparation)
        #expect(outcome.status == 23)
        #expect(
            outcome.errors.count == 1 && outcome.errors.first?.contains("-O continues only regular files") == true, "\(outcome.errors)"
        )
    }

    @Test(arguments: [("-O -C - ", true), ("-O -C 0 ", true), ("-C - -o name ", false)])
    func linkOutOfTheFolderIsFollowedOnlyForAnExplicitFileName(arguments: String, isRefused: Bool) throws {
        let (source, outside) = (try Program(), try Program())
        let url = try source.makeFile("name", "text").absoluteString
        let outcome = try run("\(arguments)'\(url)'", after: "ln -s '\(outside.folder.path)/new' name")
        #expect(outcome.status == (isRefused ? 23 : 0), "\(outcome.errors)")
        #expect(try outside.files == (isRefused ? [] : ["new"]))
    }

    @Test func timeLimitEndsAWaitForAFIFOToUpload() throws {
        let server = try ScriptedServer([.forever([.receiveHead, .stall])])
        for option in ["-T fifo", "-d @fifo", "-d a -d @fifo"] {
            let outcome = try run("--max-time 0.3 \(option) \(server.url())", after: "test -p fifo || mkfifo fifo")
            #expect(outcome.status == 28 && outcome.errors.count == 1, "\(option): \(outcome)")
        }
    }

    /// open(2) waits for a reader of the FIFO, and write(2) waits while the reader does not read.
    @Test(arguments: [
        ("-o fifo data:,x", "mkfifo fifo"), ("--trace fifo.har data:,x", "mkfifo fifo.har"),
        (#"-o fifo "data:,$large""#, "mkfifo fifo; exec 3<>fifo; large=$(head -c 100000 /dev/zero | tr '\\0' x)"),
    ])
    func timeLimitEndsAWaitForTheReaderOfAFIFO(arguments: String, preparation: String) throws {
        let outcome = try run("--max-time 0.3 \(arguments)", after: preparation)
        #expect(outcome.status == 28 && outcome.errors.count == 1, "\(outcome)")
    }

    @Test func fifosReceiveBodyAndTraceWithinTheTimeLimit() throws {
        let script = #"""
            mkfifo fifo fifo.har; timeout 60 cat fifo >body & timeout 60 cat fifo.har >trace &
            timeout 60 "$portolan" get --max-time 50 -o fifo --trace fifo.har data:,text; status=$?
            until test -s trace && grep -q text body; do :; done; cat body; exit $status
            """#
        let outcome = try program.runScript(script)
        #expect(outcome.status == 0 && outcome.text == "text", "\(outcome)")
    }

    @Test func fifoIsUploadedOnceItHasAWriter() throws {
        for option in ["-d @fifo", "-T fifo -H Expect:"] {
            let bodyLength = option.hasPrefix("-d") ? 5 : 3 + 5 + 2 + 5
            let server = try ScriptedServer([.receiveHead, .receive(bodyLength)] + ScriptedServer.response("200 OK").dropFirst())
            let outcome = try program.runScript(
                #"rm -f fifo; mkfifo fifo; timeout 60 "$portolan" get \#(option) \#(server.url()) & timeout 60 sh -c 'printf bytes >fifo'; wait $!"#
            )
            #expect(outcome.errors.isEmpty)
            #expect(server.connections.first?.text.contains("bytes") == true, "\(option)")
        }
    }

    @Test func loadsFileMustNotBeAFIFO() throws {
        let outcome = try program.runScript(#"mkfifo fifo; timeout 60 "$portolan" check data: --loads fifo --filter BODY-01"#)
        #expect(outcome.status == 2)
        #expect(outcome.errors.first?.contains("--loads: 'fifo' can't be read: 'fifo' is a FIFO") == true, "\(outcome.errors)")
    }
}
