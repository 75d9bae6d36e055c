// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// `explain`, `version`, help, exit statuses and completion.
@Suite(.blocking) struct CommandTests {
    private let program: Program

    init() throws { program = try Program() }

    @Test func explainListsCandidatesAndTheChosenHandler() throws {
        let outcome = try program.run("explain", "data:,x")
        #expect(
            outcome.lines == [
                "GET 'data:,x'", "1. org.portolan.data (asked for data:): serves this request", "served by org.portolan.data",
            ])
        #expect(outcome.status == 0)
    }

    @Test func explainFailsIfNoHandlerTakesTheURL() throws {
        let outcome = try program.run("explain", "--json", "nosuch:x")
        #expect(outcome.lines == [#"{"url":"nosuch:x","method":"GET","asked":[],"winner":null}"#])
        #expect(outcome.errors == ["portolan: no handler takes 'nosuch:x'; known schemes: data, file, http, https"])
        #expect(outcome.status == 1)
    }

    @Test func explainHidesPasswords() throws {
        let outcome = try program.run("explain", "--json", "file://user:secret@localhost/x")
        #expect(!outcome.text.contains("secret"))
    }

    @Test func versionNamesTheSchemes() throws {
        #expect(try program.run("version", "--no-plugins").lines.last == "schemes: data file http https")
        let json = try JSONSerialization.jsonObject(with: program.run("version", "--no-plugins", "--json").output) as? [String: Any]
        #expect(json?["schemes"] as? [String] == ["data", "file", "http", "https"])
        #expect((json?["version"] as? String)?.isEmpty == false)
    }

    @Test func versionIsAlsoAnOption() throws {
        #expect(try program.run("--version").text == program.run("version").text)
    }

    @Test func pathsAreRefusedWithTheirFileURL() throws {
        let file = try program.makeFile("a b")
        let path = try #require(file.path.split(separator: "/").last.map { "./\($0)" })
        for command in ["get", "explain"] {
            let line = try #require(try program.run(command, path).errors.first)
            #expect(line.hasPrefix("portolan: './a b' is not a URL; for a file, write 'file:///"))
            #expect(line.hasSuffix("/a%20b'"))
        }
    }

    @Test func optionsOfCurlWithoutEffectAreAccepted() throws {
        #expect(try program.run("get", "-sL", "data:,x").text == "x")
    }

    @Test func exitStatusesAreListed() throws {
        let outcome = try program.run("exit-codes")
        #expect(
            outcome.lines.contains(
                "   37  the resource, or the file of an option, does not exist, cannot be read, is not a regular file, or is malformed"))
        #expect(try program.run("help", "exit-codes").status == 0)
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completionsExist(shell: String) throws {
        let outcome = try program.run("--generate-completion-script", shell)
        #expect(outcome.status == 0)
        #expect(outcome.text.contains("max-redirects"))
    }

    @Test func completionScriptCompletesFiles() throws {
        let script = try program.run("--generate-completion-script", "zsh").text
        #expect(script.contains(/-o[^\n]*:file:_files/))
        #expect(script.contains(/--plugin[^\n]*:path:_files/))
    }

    @Test(arguments: [["--help"], ["get", "--help"], ["help", "stdio"], ["help"], ["help", "help"], ["help", "plugins", "list"], []])
    func helpExitsSuccessfully(arguments: [String]) throws {
        let outcome = try program.run(arguments)
        #expect(outcome.status == 0)
        #expect(outcome.text.contains("USAGE: portolan"))
        #expect(outcome.errors.isEmpty)
    }

    @Test(arguments: [
        (["chek", "x"], "there is no command 'chek'; did you mean 'portolan check'? (see 'portolan help')"),
        (["plugins", "lst"], "there is no command 'plugins lst'; did you mean 'portolan plugins list'? (see 'portolan help plugins')"),
        (["data:,x"], "there is no command 'data:,x'; did you mean 'portolan get data:,x'? (see 'portolan help')"),
        (["help", "chek"], "there is no command 'chek'; did you mean 'portolan check'? (see 'portolan help')"),
        (["help", "nosuch"], "there is no command 'nosuch' (see 'portolan help')"),
        (["help", "plugins", "nosuch"], "there is no command 'plugins nosuch' (see 'portolan help')"),
        (["nosuch"], "there is no command 'nosuch' (see 'portolan help')"),
    ])
    func unknownCommandIsReportedWithASuggestion(arguments: [String], message: String) throws {
        let outcome = try program.run(arguments)
        #expect(outcome.status == 2 && outcome.errors == ["portolan: \(message)"], "\(outcome)")
    }

    @Test(arguments: [["nosuch"], ["get"], ["stdio", "x"], ["explain", "a:b", "c:d"]])
    func invalidCommandLineIsReportedInOneLine(arguments: [String]) throws {
        let outcome = try program.run(arguments)
        #expect(outcome.status == 2)
        #expect(outcome.errors.count == 1)
        #expect(outcome.output.isEmpty)
    }
}
