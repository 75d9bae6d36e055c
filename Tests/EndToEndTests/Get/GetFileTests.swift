// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// The files that `-o` and `-O` leave in the folder.
@Suite(.blocking) struct GetFileTests {
    private let program: Program

    init() throws { program = try Program() }

    @Test func outputFileHasTheBodyAndNoOtherFileIsLeft() throws {
        #expect(try program.run("get", "-o", "out", "data:,body").status == 0)
        #expect(try program.files == ["out"])
        #expect(program.contents(of: "out") == "body")
    }

    @Test func emptyBodyMakesAnEmptyFile() throws {
        #expect(try program.run("get", "-o", "out", "data:,").status == 0)
        #expect(program.contents(of: "out") == "")
    }

    @Test func replacedFileKeepsItsMode() throws {
        let file = try program.makeFile("out", "old and longer")
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file.path)
        #expect(try program.run("get", "-o", "out", "data:,new").status == 0)
        #expect(program.contents(of: "out") == "new")
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o640)
    }

    @Test func failedLoadKeepsTheOldFile() throws {
        try program.makeFile("out", "old")
        #expect(try program.run("get", "-o", "out", "file:///nosuch/file").status == 37)
        #expect(program.contents(of: "out") == "old")
        #expect(try program.files == ["out"])
    }

    @Test func linkIsKeptAndItsTargetIsWritten() throws {
        try program.makeFile("real", "old")
        try FileManager.default.createSymbolicLink(atPath: program.folder.appendingPathComponent("link").path, withDestinationPath: "real")
        #expect(try program.run("get", "-o", "link", "data:,new").status == 0)
        #expect(program.contents(of: "real") == "new")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: program.folder.appendingPathComponent("link").path) == "real")
    }

    @Test func danglingLinkIsKeptAndItsTargetIsCreated() throws {
        try FileManager.default.createDirectory(at: program.folder.appendingPathComponent("deep"), withIntermediateDirectories: false)
        for (link, destination) in [("link", "deep/second"), ("deep/second", "real"), ("loop", "loop")] {
            try FileManager.default.createSymbolicLink(
                atPath: program.folder.appendingPathComponent(link).path, withDestinationPath: destination)
        }
        #expect(try program.run("get", "-o", "link", "data:,new").status == 0)
        #expect(program.contents(of: "deep/real") == "new")
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: program.folder.appendingPathComponent("link").path) == "deep/second")
        #expect(
            try program.run("get", "-o", "loop", "data:,x").errors == ["portolan: cannot write 'loop': Too many levels of symbolic links"])
    }

    @Test func suggestedNameDoesNotFollowALink() throws {
        try FileManager.default.createSymbolicLink(
            atPath: program.folder.appendingPathComponent("download").path, withDestinationPath: "real")
        let errorText =
            "portolan: 'download' is a symbolic link to a file that does not exist, and is not overwritten; choose a name with -o"
        #expect(try program.run("get", "-O", "data:,x").errors == [errorText])
        // The error must not wait for the body, which never ends.
        let server = try ScriptedServer([
            .receiveHead, .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), .stall,
        ])
        let outcome = try program.run("get", "-O", "--max-time", "20", server.url("/download"))
        #expect(outcome.status == 23 && outcome.errors == [errorText], "\(outcome)")
        #expect(try program.files == ["download"])
    }

    @Test func deviceOrFIFOIsWrittenDirectly() throws {
        #expect(try program.run("get", "-o", "/dev/null", "data:,x").status == 0)
        let outcome = try program.runScript(#"mkfifo pipe; "$portolan" get -o pipe data:,through & cat pipe; wait"#)
        #expect(outcome.text == "through")
        #expect(try program.files == ["pipe"])
    }

    @Test func outputFileIsNamedAfterTheURL() throws {
        let file = try program.makeFile("a b", "text")
        let secondProgram = try Program()
        #expect(try secondProgram.run("get", "-O", file.absoluteString).status == 0)
        #expect(try secondProgram.files == ["a b"])
        #expect(secondProgram.contents(of: "a b") == "text")
    }

    @Test func suggestedNameDoesNotOverwriteAFile() throws {
        try program.makeFile("download", "mine")
        let outcome = try program.run("get", "-O", "data:,x")
        #expect(outcome.status == 23)
        #expect(outcome.errors == ["portolan: 'download' exists and is not overwritten; choose a name with -o"])
        #expect(program.contents(of: "download") == "mine")
        #expect(try program.files == ["download"])
    }

    /// Reads the events until the first part of the body has arrived, so that the load is running. The load cannot
    /// finish, because the test does not read its other events before the signal.
    @Test func signalLeavesNoPartialFile() throws {
        let source = try Program()
        let file = try source.makeLargeFile("big", size: 1 << 40)
        let process = Process()
        process.executableURL = Program.executable
        process.arguments = ["get", "--events", "-o", "out", file.absoluteString]
        process.currentDirectoryURL = program.folder
        process.environment = program.environment
        let (events, errors) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError) = (events, errors)
        try process.run()
        var output = ""
        while !output.contains(#""event":"data""#) {
            output += String(decoding: events.fileHandleForReading.availableData, as: UTF8.self)
        }
        process.terminate()
        output += String(decoding: events.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 143)
        #expect(output.split(separator: "\n").last?.contains(#""event":"failed""#) == true)
        #expect(String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) == "portolan: ended by SIGTERM\n")
        #expect(try program.files.isEmpty)
    }
}
