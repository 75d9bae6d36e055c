// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanConformance
import ServerSupport
import TestThreads
import Testing

@Suite(.blocking, .timeLimit(.minutes(10))) struct CheckCommandTests {
    /// The path of the library of a mutant, or of `good`, the plugin without a mistake.
    private func mutantLibrary(_ name: String) -> String { Mutant.folder.appendingPathComponent("\(name).so").path }

    @Test func listPrintsEveryCheck() throws {
        let outcome = try Program().run("check", "--list")
        #expect(outcome.lines.count == ConformanceCheck.all.count + 1)
        #expect(outcome.lines.last?.hasSuffix(" checks, of \(RuleCatalogue.rules.count) rules") == true)
    }

    @Test func crashIsReportedWithSignalStackAndLastCalls() throws {
        let outcome = try Program().run("check", mutantLibrary("LIFE_05"), "--filter", "LIFE-05")
        #expect(outcome.status == 111)
        #expect(outcome.text.contains("crashed  LIFE-05"))
        #expect(outcome.text.contains("SIGSEGV") && outcome.text.contains("at the address 0x"))
        #expect(outcome.text.contains("LIFE_05.so"), "the stack names the library")
        #expect(outcome.text.contains("→ stop") && outcome.text.contains("did_finish"))
        #expect(outcome.text.contains("again: portolan check"))
    }

    /// The functions of the C library that end the process are left out of the stack.
    @Test(.enabled(if: !Program.isSanitized, "AddressSanitizer reports the crash itself"))
    func crashShowsStandardErrorAndTheFunctionOfThePlugin() throws {
        let program = try Program()
        try program.makeFile(
            "loud.c",
            """
            #include <portolan/portolan.h>
            #include <stdio.h>
            #include <stdlib.h>
            static void *init(portolan_host *host, portolan_refusal *refusal) {
                (void)host, (void)refusal;
                for (int i = 0; i < 20; i++) fprintf(stderr, "line %d\\n", i);
                abort();
            }
            static const portolan_string scheme = PORTOLAN_TEXT("loud");
            static void *make(void *p, const portolan_request *r, const portolan_response *c, portolan_client *client, portolan_refusal *f) {
                (void)p, (void)r, (void)c, (void)client, (void)f;
                return NULL;
            }
            static const portolan_load_table loads = { .size = sizeof loads, .run = free, .destroy = free };
            static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.example.loud"),
                                                      .schemes = &scheme, .scheme_count = 1, .make = make, .loads = &loads };
            static const portolan_handler *const handlers[] = { &handler };
            static const portolan_plugin plugin = {
                .size = sizeof plugin, .abi_major = PORTOLAN_ABI_MAJOR, .identifier = PORTOLAN_TEXT("org.example.loud"),
                .name = PORTOLAN_TEXT("Loud"), .vendor = PORTOLAN_TEXT("Example"), .version = PORTOLAN_TEXT("1.0.0"),
                .handlers = handlers, .handler_count = 1, .init = init };
            const portolan_plugin *portolan_plugin_entry(uint32_t major) { (void)major; return &plugin; }
            """)
        let headers = PluginConformanceTests.root.appendingPathComponent("Sources/CPortolan/include").path
        let build = try program.runScript("cc -g -shared -fPIC -I '\(headers)' loud.c -o loud.so")
        #expect(build.status == 0, "\(build.errors)")
        let outcome = try program.run("check", "./loud.so", "--filter", "REG-01")
        let text = outcome.text
        #expect(outcome.status == 111 && text.contains("crashed  REG-01  it crashed in init (loud.c:7)"), "\(text)")
        #expect(text.contains("         stack:\n           init (loud.c:7)\n"), "\(text)")
        let lastLines = (12..<20).map { "           line \($0)\n" }.joined()
        #expect(text.contains("         standard error:\n" + lastLines) && !text.contains("line 11"), "\(text)")
    }

    @Test func hangingCheckIsEndedAtItsTimeLimitAndReported() throws {
        let startTime = ContinuousClock.now
        let outcome = try Program().run("check", mutantLibrary("CAN_05"), "--filter", "CAN-03", "--timeout", "0.2", "--level", "5")
        #expect(outcome.status == 111)
        #expect(outcome.text.contains("hung     CAN-03") && outcome.text.contains("the supervisor killed it after"))
        #expect(ContinuousClock.now - startTime < .seconds(20))
    }

    /// A check runs in a forked process. Swift's Mutex stores the ID of each thread, and in the first thread of the
    /// process it still uses the ID of the parent's thread.
    /// Contention for a Mutex on the first thread could deadlock, so the check must run on a new thread.
    @Test func checkRunsOnAThreadThatStartedInItsProcess() throws {
        let program = try Program()
        let plugin = try program.copyFixture("second.so")
        let outcome = try program.run("check", plugin, "--filter", "REG-01", "--verbose")
        #expect(outcome.status == 0 && outcome.text.hasPrefix("passed   REG-01"), "\(outcome.text)")
        let inProcessOutcome = try program.run("check", plugin, "--filter", "REG-01", "--verbose", "--in-process")
        #expect(inProcessOutcome.text.contains("this is the first thread of its process"), "\(inProcessOutcome.text)")
    }

    @Test func runInWhichEveryCheckIsSkippedFails() throws {
        let program = try Program()
        let plugin = try program.copyFixture("second.so")
        let outcome = try program.run("check", plugin, "--filter", "REDIR-01")
        #expect(outcome.status == 111 && outcome.lines.last?.hasSuffix(": 1 check: none made; skipped: 1") == true, "\(outcome.text)")
        #expect(
            outcome.errors.contains { $0.contains("no check of ") && $0.contains("so the result says nothing about the plugin") },
            "\(outcome.errors)")
    }

    /// The stack of a call of NULL cannot be unwound, so the report names the return address of the call.
    @Test(.enabled(if: !Program.isSanitized, "AddressSanitizer finds the error first"))
    func callOfNULLIsReportedWithItsCaller() throws {
        let program = try Program()
        let source = "static void (*volatile gone)(void);\n__attribute__((constructor)) static void begin(void) { gone(); }\n"
        try program.makeFile("null.c", source)
        #expect(try program.runScript("mkdir 'a b' && cd 'a b' && cc -O0 -g -shared -fPIC ../null.c -o null.so").status == 0)
        let outcome = try program.run("check", "a b/null.so", "--filter", "DESC-01")
        #expect(outcome.lines.contains { $0.trimmingCharacters(in: .whitespaces) == "begin (null.c:2)" }, "\(outcome.text)")
    }

    @Test func sanitizerRefusesPerformanceChecks() throws {
        let outcome = try Program().run("check", mutantLibrary("good"), "--filter", "PERF", "--level", "5", "--sanitizer")
        #expect(outcome.status == 2 && outcome.errors.contains { $0.contains("name other checks with --filter") }, "\(outcome.errors)")
    }

    /// A run without checks must not succeed. Some categories have no checks at the default level.
    @Test func filterWithoutMatchingChecksIsRefused() throws {
        let program = try Program()
        for (filter, errorText) in [("LEAK", "--level 4"), ("", "--filter names no check"), (" , ", "--filter names no check")] {
            let outcome = try program.run("check", mutantLibrary("good"), "--filter", filter)
            #expect(outcome.status == 2 && outcome.errors.contains { $0.contains(errorText) }, "\(outcome.errors)")
        }
        #expect(try program.run("check", "--list", "--filter", "LEAK").lines.count > 1)
        #expect(try program.run("check", "./none.so").status == 107)
    }

    /// The crash handler runs inside free(3) here. The runner must still report a crash, not a hang.
    @Test(.enabled(if: !Program.isSanitized, "AddressSanitizer finds the error first"))
    func heapCorruptionIsACrashAndEqualCrashesAreSummarized() throws {
        let program = try Program()
        try program.makeFile(
            "twice.c",
            """
            #include <stdlib.h>
            __attribute__((constructor)) static void begin(void) {
                void *volatile block = malloc(5000), *volatile behind = malloc(5000);
                free(block);
                free(block);
                free(behind);
            }
            """)
        #expect(try program.runScript("cc -O0 -g -w -shared -fPIC twice.c -o twice.so").status == 0)
        let startTime = ContinuousClock.now
        let outcome = try program.run("check", "twice.so", "--filter", "DESC-01")
        #expect(outcome.status == 111 && outcome.text.contains("crashed  DESC-01") && outcome.text.contains("SIGABRT"), "\(outcome.text)")
        #expect(ContinuousClock.now - startTime < .seconds(15))
        // The place in the plugin, from its symbols and debug information.
        #expect(outcome.lines.contains { $0.trimmingCharacters(in: .whitespaces) == "begin (twice.c:5)" }, "\(outcome.text)")
        let outcomeOfAllChecks = try program.run("check", "twice.so", "--level", "1")
        #expect(outcomeOfAllChecks.text.components(separatedBy: "stack:").count == 2, "\(outcomeOfAllChecks.text)")
        #expect(outcomeOfAllChecks.lines.count { $0.hasPrefix("crashed ") } == 1, "\(outcomeOfAllChecks.text)")
        let errorText = " checks ended in the same way: it crashed in begin (twice.c:5); fix that first, then check again: DESC-01, "
        #expect(outcomeOfAllChecks.lines.contains { $0.contains(errorText) }, "\(outcomeOfAllChecks.text)")
    }

    /// Checks do not wait for a load that hung in an earlier check.
    @Test func hangingLoadIsReportedOnceWithoutMoreWaiting() throws {
        let startTime = ContinuousClock.now
        let outcome = try Program().run(
            "check", mutantLibrary("LIFE_02").replacing(".so", with: ".plugin.json"), "--filter", "LIFE,BODY,ORDER,ERR", "--timeout", "8")
        #expect(outcome.lines.count { $0.hasPrefix("failed ") } == 1 && outcome.text.contains("failed   LIFE-02"), "\(outcome.text)")
        #expect(outcome.text.contains("did not end in an earlier check; LIFE-02 reports it"), "\(outcome.text)")
        // If each of about 30 checks waited for 2 seconds, with two at a time, the run would take 30 seconds.
        #expect(ContinuousClock.now - startTime < .seconds(25), "\(ContinuousClock.now - startTime)")
    }

    @Test func ruleIsExplainedWithItsPlaceInTheHeaders() throws {
        let outcome = try Program().run("check", "--explain", "order-02")
        let rule = try #require(RuleCatalogue.rule("ORDER-02"))
        #expect(outcome.status == 0 && outcome.lines.first == "ORDER-02  \(rule.sentence)", "\(outcome.text)")
        for line in [
            "  why:     \(rule.reason)", "  fix:     \(rule.remedy)", "  headers: portolan/client.h: portolan_client.did_finish",
            "  check:   portolan check PLUGIN --filter ORDER-02",
        ] { #expect(outcome.lines.contains(line), "\(line)\n\(outcome.text)") }
        let unknown = try Program().run("check", "--explain", "NONE-01")
        #expect(unknown.status == 2 && unknown.errors.contains { $0.contains("--explain: there is no rule or category 'NONE-01'") })
        #expect(try Program().run("check", "--explain", "MEM,CACHE,MANIF-10").status == 0)
    }

    @Test func sourceIsNotReadAsAManifest() throws {
        let program = try Program()
        try program.makeFile("hello.c", "int main(void) { return 0; }\n")
        let outcome = try program.run("check", "hello.c")
        #expect(outcome.status == 2 && outcome.errors.contains { $0.contains("'hello.c' is C source, and check needs the built plugin") })
    }

    /// A path can be an encoded URL. The plugin has to decode it.
    @Test func redirectToAnEncodedURLOfThePathPasses() throws {
        let program = try Program()
        try program.makeFile(
            "to/to.c",
            """
            #include <portolan/helpers.h>
            #include <portolan/portolan.h>
            typedef struct { const portolan_request *request; portolan_client *client; } to_load;
            static to_load only;
            static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                              portolan_refusal *refusal) {
                only = (to_load){ request, client };
                return &only;
            }
            static void run(void *load) {
                char url[900];
                portolan_string path = only.request->path;
                int64_t length = portolan_decode(path, url, sizeof url);
                portolan_change change = { .size = sizeof change, .url = { url, (size_t)length } };
                portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_BAD_URL, .message = PORTOLAN_TEXT("no target") };
                if (length > 5) only.client->was_redirected(only.client, &change, NULL);
                else only.client->did_fail(only.client, &error);
            }
            static void destroy(void *load) {}
            static const portolan_string schemes[] = { PORTOLAN_TEXT("to") };
            static const portolan_load_table loads = { .size = sizeof loads, .run = run, .destroy = destroy };
            static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.test.to"),
                .schemes = schemes, .scheme_count = 1, .make = make, .loads = &loads };
            static const portolan_handler *const handlers[] = { &handler };
            static const portolan_plugin descriptor = { .size = sizeof descriptor, .abi_major = 1,
                .identifier = PORTOLAN_TEXT("org.portolan.test.to"), .name = PORTOLAN_TEXT("To"), .vendor = PORTOLAN_TEXT("x"),
                .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1 };
            PORTOLAN_EXPORT const portolan_plugin *portolan_plugin_entry(uint32_t abi) { return &descriptor; }
            """)
        let include = Repository.root.appendingPathComponent("Sources/CPortolan/include").path
        let made = try program.runScript("cd to && cc -std=gnu11 -w -shared -fPIC -fvisibility=hidden -I '\(include)' to.c -o to.so")
        #expect(made.status == 0, "\(made.errors)")
        for (url, verdict) in [("to:data:%2Ctext", "passed"), ("to:data:,text", "failed")] {
            try program.makeFile(
                "to/to.plugin.json",
                """
                { "identifier": "org.portolan.test.to", "name": "To", "vendor": "x", "version": "1.0.0", "library": "to.so", "schemes": ["to"],
                  "conformance": { "loads": [{ "url": "\(url)", "tags": ["redirects"] }] } }
                """)
            let outcome = try program.run("check", "to", "--filter", "REDIR-01", "-v")
            #expect(outcome.text.hasPrefix("\(verdict)   REDIR-01"), "\(outcome.text)")
        }
    }

    @Test func passedChecksAreSilentAndSkippedOnesAreCounted() throws {
        let program = try Program()
        try FileManager.default.copyItem(atPath: mutantLibrary("good"), toPath: program.folder.appendingPathComponent("alone.so").path)
        let outcome = try program.run("check", "alone.so", "--filter", "DESC,CAN")
        #expect(outcome.status == 0)
        #expect(outcome.lines.suffix(2).first?.contains("skipped: ") == true)
        #expect(outcome.lines.last == "Not run, because of the level: CAN-05; --level 5 runs it")
        #expect(outcome.lines.contains { $0.hasPrefix("skipped: ") && $0.contains("because the library was named without a manifest") })
        #expect(!outcome.text.contains("passed   DESC-01"))
        // A file name with a version at its end is also a library. Its manifest has the name without the version.
        let path = program.folder.appendingPathComponent("alone.so").path
        try FileManager.default.copyItem(atPath: path, toPath: path + ".1.2")
        #expect(try program.run("check", "alone.so.1.2", "--filter", "DESC,CAN").lines.dropLast(2) == outcome.lines.dropLast(2))
    }

    /// As for `plugins validate`, the manifest of a library is the one that names it.
    @Test func manifestOfALibraryCanHaveAnotherName() throws {
        let program = try Program()
        let manifest = try String(contentsOf: Mutant.folder.appendingPathComponent("good.plugin.json"), encoding: .utf8)
        try program.makeFile("plugin/other.plugin.json", manifest.replacing("good.so", with: "subject.so"))
        try FileManager.default.copyItem(
            atPath: mutantLibrary("good"), toPath: program.folder.appendingPathComponent("plugin/subject.so").path)
        let outcome = try program.run("check", "plugin/subject.so", "--filter", "MANIF-01,BODY-01", "-v")
        #expect(outcome.status == 0 && outcome.lines.contains { $0.hasPrefix("passed   BODY-01") }, "\(outcome.text)")
        // A manifest that can't be read can be the library's.
        try program.makeFile("plugin/other.plugin.json", "{")
        let outcomeWithProblem = try program.run("check", "plugin/subject.so", "--filter", "MANIF-01")
        #expect(outcomeWithProblem.text.hasPrefix("failed   MANIF-01"), "\(outcomeWithProblem.text)")
    }

    @Test func verboseOutputExplainsSkippedChecks() throws {
        let program = try Program()
        try FileManager.default.copyItem(atPath: mutantLibrary("good"), toPath: program.folder.appendingPathComponent("alone.so").path)
        let outcome = try program.run("check", "alone.so", "--filter", "CAN-03", "-v")
        #expect(outcome.text.contains("the library was named without a manifest"))
    }

    @Test func fileOfTheLoadsOptionNamesURLsOfABuiltInHandler() throws {
        let program = try Program()
        try program.makeFile("loads", #"{"loads": [{"url": "data:,a", "length": 2}, {"url": "data:none", "error": "badURL"}]}"#)
        let outcome = try program.run("check", "data:", "--loads", "loads", "--filter", "BODY-01")
        #expect(outcome.status == 111 && outcome.text.contains("'data:,a' gave 1 byte, not 2"), "\(outcome.text)")
        // The suggested command reproduces the finding.
        let suggestedCommand = try #require(
            outcome.lines.first { $0.contains("again: portolan ") }?.split(separator: "again: portolan ").last)
        #expect(try program.runScript("$portolan \(suggestedCommand)").text.contains("'data:,a' gave 1 byte, not 2"))
        try program.makeFile("loads", #"{"loads": [{"url": "data:,a", "length": 1, "mime": "text/plain"}]}"#)
        #expect(try program.run("check", "data:", "--loads", "loads", "--filter", "BODY-01").lines.last == "data:: 1 check: 1 passed")
        for (arguments, errorText) in [
            (["check", "http:"], "depends on a server; give --loads FILE, a conformance section with URLs of your server"),
            (["check", "data:", "--loads", "nothing"], "--loads: 'nothing' can't be read"),
            (["check", mutantLibrary("good"), "--loads", "loads"], "--loads is for built-in schemes"),
        ] {
            let outcome = try program.run(arguments)
            #expect(
                outcome.status == 2 && outcome.output.isEmpty && outcome.errors.count == 1 && outcome.errors[0].contains(errorText),
                "\(outcome.errors)")
        }
        try program.makeFile("loads", #"{"loads": [{"url": "data:,a", "size": 2}]}"#)
        #expect(try program.run("check", "data:", "--loads", "loads").errors.first?.contains("loads:1:") == true)
    }

    @Test func tapReportNumbersEveryCheck() throws {
        let outcome = try Program().run("check", mutantLibrary("ERR_02"), "--filter", "ERR", "--format", "tap")
        let count = ConformanceCheck.all.count { $0.rule.category == "ERR" && $0.rule.level <= 3 }
        #expect(outcome.lines.prefix(2) == ["TAP version 14", "1..\(count)"])
        #expect(outcome.lines.count { $0.hasPrefix("ok ") || $0.hasPrefix("not ok ") } == count)
        #expect(outcome.lines.contains { $0.hasPrefix("not ok 2 - ERR-02") })
    }

    @Test func junitReportIsXMLWithAFailure() throws {
        let outcome = try Program().run("check", mutantLibrary("ERR_02"), "--filter", "ERR", "--format", "junit")
        #expect(outcome.text.contains(#"<testcase classname="org.portolan.subject" name="ERR-02""#))
        #expect(outcome.text.contains("<failure message=") && outcome.text.contains(#"failures="1" errors="0""#))
    }

    /// Third-party programs read the machine-readable reports and count the same results: one failure and one skipped
    /// check.
    @Test func thirdPartyToolsReadTheReports() throws {
        let program = try Program()
        let outcome = try program.runScript(
            """
            set -e
            cp '\(mutantLibrary("ERR_02"))' .
            sed '/"nested"/d' '\(Mutant.folder.path)/ERR_02.plugin.json' > ERR_02.plugin.json
            check() { "$portolan" check ERR_02.so --filter ERR-01,ERR-02,NEST-01 "$@" || [ $? = 111 ]; }
            check --json > report.json; "$portolan" check --list --json > list.json
            check --format junit > report.xml; check --format tap13 > report.tap
            sed 's/"verdict":"failed"/"verdict":"bad"/' report.json > wrong.json
            echo '{"plugin":"x"}' > half.json
            /usr/bin/python3 - '\(Repository.root.path)/docs/check-results.schema.json' <<'END'
            import json, jsonschema, junitparser, sys
            schema = json.load(open(sys.argv[1]))
            jsonschema.Draft202012Validator.check_schema(schema)
            validator = jsonschema.Draft202012Validator(schema)
            print([validator.is_valid(json.load(open(name))) for name in ["report.json", "list.json", "wrong.json", "half.json"]])
            report = junitparser.JUnitXml.fromfile("report.xml")
            cases = [case for suite in report for case in suite]
            print(report.tests, report.failures, [case.name for case in cases if any(isinstance(r, junitparser.Skipped) for r in case.result)])
            END
            prove --verbose --exec cat report.tap > proved || true
            grep -cE '^(not )?ok' proved; grep 'Failed test' proved
            """)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.lines.prefix(3) == ["[True, True, False, False]", "3 1 ['NEST-01']", "3"], "\(outcome.lines)")
        #expect(outcome.lines.last == "  Failed test:  3", "\(outcome.lines)")
    }

    /// The page refers to no other file or server.
    @Test func htmlReportIsOnePageWithAChartOfTheLastCalls() throws {
        let outcome = try Program().run("check", mutantLibrary("FLOW_06"), "--filter", "FLOW", "--format", "html")
        #expect(outcome.status == 111 && outcome.text.hasPrefix("<!DOCTYPE html>") && outcome.text.hasSuffix("</html>\n"))
        #expect(outcome.text.contains(#"<details class="failed" id="FLOW-06" open>"#))
        #expect(outcome.text.contains("<svg ") && outcome.text.contains("→ run") && outcome.text.contains("--filter FLOW-06</code>"))
        for word in ["<script", "http:", "https:", "url(", "@import"] { #expect(!outcome.text.contains(word), "\(word)") }
    }

    /// Each link within the page has a target, categories have their titles, and the browser reports no errors.
    @Test(arguments: [("FLOW_06", "FLOW,CANCEL"), ("good", "DESC,FLOW")])
    func htmlReportOpensInABrowser(mutant name: String, rules: String) throws {
        let program = try Program()
        let outcome = try program.run("check", mutantLibrary(name), "--filter", rules, "--format", "html")
        try program.makeFile("report.html", outcome.text)
        let page = try HeadlessBrowser(in: program.folder).open(program.folder.appendingPathComponent("report.html"))
        #expect(page.consoleLines.isEmpty, "\(page.consoleLines)")
        #expect(page.brokenLinks.isEmpty, "\(page.brokenLinks)")
        let ids = Set(page.values(of: "id"))
        #expect(ids.isSuperset(of: ["categories", "checks", "rules", "rule-FLOW-06", "rules-FLOW"]))
        #expect(page.document.contains(##"<a href="#rules-FLOW">Pause and resume</a>"##))
        guard name == "FLOW_06" else { return #expect(!ids.contains("findings")) }
        #expect(ids.contains("findings") && page.document.contains(##"<a href="#rule-FLOW-06">FLOW-06</a>"##))
        for text in ["the runner calls the plugin", ">+0 ms<", "Load 1, thread ", #"scope="rowgroup">Load 1<"#] {
            #expect(page.document.contains(text), "\(text)")
        }
    }

    /// The default level does not check the use of network and files.
    @Test(arguments: ["text", "html"]) func reportNamesTheLevelsThatWereNotRun(format: String) throws {
        let program = try Program()
        let outcome = try program.run("check", "data:", "--level", "1", "--format", format)
        let line = "Levels 2 to 5 were not run; --level 5 runs them ("
        #expect(outcome.text.contains(line) && outcome.text.contains("the use of network and files (SEC-07)"), "\(outcome.text)")
        #expect((outcome.lines.last?.hasPrefix(line) == true) == (format == "text"))
        let json = try program.run("check", "data:", "--level", "1", "--json")
        #expect(json.lines.count == 1 && !json.text.contains("were not run"))
    }

    @Test func repeatedChecksAreCounted() throws {
        let outcome = try Program().run("check", mutantLibrary("good"), "--filter", "DESC-06", "--repeat", "5", "--jobs", "3")
        #expect(outcome.lines.last == "org.portolan.subject: 5 checks: 5 passed")
    }

    @Test(.enabled(if: !Program.isSanitized, "LeakSanitizer sets the exit status of a process in which a plugin leaks"))
    func inProcessChecksFindTheSameViolation() throws {
        let outcome = try Program().run("check", mutantLibrary("ORDER_02"), "--filter", "ORDER-02", "--in-process")
        #expect(outcome.status == 111 && outcome.text.contains("failed   ORDER-02"))
    }

    @Test(arguments: [["--level", "6"], ["--filter", "NONE-01"], ["--jobs", "0"], ["--timeout", "0"], []])
    func invalidArgumentsAreRefused(arguments: [String]) throws {
        let plugin = arguments.isEmpty ? [] : [mutantLibrary("good")]
        let outcome = try Program().run(["check"] + plugin + arguments)
        #expect(outcome.status == 2 && outcome.errors.count == 1)
    }
}
