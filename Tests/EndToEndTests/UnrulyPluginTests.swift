// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

@Suite(.blocking) struct UnrulyPluginTests {
    private let program: Program
    private let plugin: String

    init() throws {
        program = try Program()
        plugin = try UnrulyPlugin.make(in: program)
    }

    @Test func loadThatFailsAsCancelledDoesNotEndTheProgram() throws {
        let outcome = try program.run("get", "--plugin", plugin, "unruly://cancelled", "data:,goes%20on")
        #expect(outcome.status == 109)
        #expect(outcome.text == "goes on")
        #expect(outcome.errors == ["portolan: not today"])
    }

    /// A cancelled challenge, a redirect loop and wrong credentials have different exit statuses.
    @Test func cancelledChallengeAndRedirectLoopHaveTheirOwnStatuses() throws {
        #expect(try program.run("get", "--plugin", plugin, "unruly://unasked").status == 110)
        #expect(try program.run("get", "--plugin", plugin, "unruly://loop").status == 47)
        for user in ["guest:wrong", "nobody:sesame"] {
            let outcome = try program.run("get", "--plugin", program.copyFixture("template.so"), "-u", user, "template://secret")
            #expect(outcome.status == 67)
        }
        #expect(try program.run("get", "--plugin", program.copyFixture("template.so"), "template://secret").status == 67)
    }

    /// `-m` ends the program. Nothing can end the call itself.
    @Test(.timeLimit(.minutes(2)), arguments: ["entry", "init", "deinit"])
    func timeLimitEndsTheProgramDespiteAHangingCall(call: String) throws {
        let plugin = try UnrulyPlugin.make(in: program, hangingCall: call)
        for option in ["-sS", "-v"] {
            let outcome = try program.run("get", option, "-m", "0.2", "--plugin", plugin, "unruly://unasked")
            guard call != "deinit" else {
                // The program can also exit before the call.
                #expect(outcome.status == 110, "\(outcome)")
                continue
            }
            #expect(outcome.status == 28 && outcome.errors.last?.hasSuffix("a plugin blocks while it is opened") == true, "\(outcome)")
        }
    }

    @Test(arguments: [("stdio", Int32(0)), ("get", 143)])
    func signalEndsTheProgramDespiteAHangingStop(command: String, status: Int32) throws {
        let process = Process()
        process.executableURL = Program.executable
        process.arguments = [command, "--plugin", plugin] + (command == "get" ? ["unruly://hang"] : [])
        process.currentDirectoryURL = program.folder
        process.environment = program.environment
        let (input, errors) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (input, FileHandle.nullDevice, errors)
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data("{\"url\":\"unruly://hang\"}\n".utf8))
        #expect(String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self) == "waits\n")
        process.terminate()
        // A watchdog ends a hanging program, so that the test does not hang.
        let watchdog = DispatchWorkItem { kill(process.processIdentifier, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 20, execute: watchdog)
        process.waitUntilExit()
        watchdog.cancel()
        #expect(process.terminationReason == .exit)
        #expect(process.terminationStatus == status)
    }
}
