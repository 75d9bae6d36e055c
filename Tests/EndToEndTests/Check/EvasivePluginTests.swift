// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Plugins that remove what the checks need, that behave differently in later checks, or that try to change a verdict.
@Suite(.blocking, .timeLimit(.minutes(10)), .enabled(if: !Program.isSanitized, "AddressSanitizer finds some of the errors first"))
struct EvasivePluginTests {
    /// A plugin whose loads never end, which violates ORDER-02 and other rules.
    ///
    /// - Parameters:
    ///   - code: inserted before the entry function.
    ///   - before: inserted before `make`.
    ///   - yields: the C condition under which the entry function returns the descriptor.
    ///   - make: inserted into `make`.
    static func source(_ code: String, before: String = "", yields: String = "abi == 1", make: String = "") -> String {
        """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <portolan/helpers.h>
        #include <portolan/portolan.h>
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/mman.h>
        #include <sys/ptrace.h>
        #include <sys/resource.h>
        #include <sys/stat.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        static void forge(void);
        \(before)
        static void run(void *load) { (void)load; }
        static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                          portolan_refusal *refusal) { (void)plugin; (void)request; (void)cached; (void)refusal; \(make) return client; }
        static void destroy(void *load) { (void)load; }
        static const portolan_string schemes[] = { PORTOLAN_TEXT("forger") };
        static const portolan_load_table loads = { .size = sizeof loads, .run = run, .destroy = destroy };
        static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.forger"),
            .schemes = schemes, .scheme_count = 1, .make = make, .loads = &loads };
        static const portolan_handler *const handlers[] = { &handler };
        static const portolan_plugin descriptor = { .size = sizeof descriptor, .abi_major = 1,
            .identifier = PORTOLAN_TEXT("org.portolan.forger"), .name = PORTOLAN_TEXT("Forger"), .vendor = PORTOLAN_TEXT("x"),
            .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1 };
        \(code)
        PORTOLAN_EXPORT const portolan_plugin *portolan_plugin_entry(uint32_t abi) { forge(); return \(yields) ? &descriptor : NULL; }
        """
    }

    static let manifest = """
        {"identifier": "org.portolan.forger", "name": "Forger", "vendor": "x", "version": "1.0.0", "library": "forger.so", "schemes": ["forger"],
         "conformance": {"loads": [{"url": "forger:a"}, {"url": "forger:b", "error": "notFound", "tags": ["fails"]}]}}
        """

    private struct Report: Decodable {
        struct Result: Decodable {
            struct Finding: Decodable { let detail: String }
            let id, verdict: String
            let note: String?
            let findings: [Finding]
        }
        let results: [Result]
    }

    private let program: Program

    init() throws { program = try Program() }

    private func build(_ source: String) throws {
        try program.makeFile("forger/forger.c", source)
        try program.makeFile("forger/Forger.plugin.json", Self.manifest)
        let include = Repository.root.appendingPathComponent("Sources/CPortolan/include").path
        let compilation = try program.runScript("cc -shared -fPIC -fvisibility=hidden -I'\(include)' forger/forger.c -o forger/forger.so")
        #expect(compilation.status == 0, "\(compilation.errors)")
    }

    private func check(_ arguments: String...) throws -> (results: [Report.Result], time: Duration) {
        let startTime = ContinuousClock.now
        let outcome = try program.run(["check", "forger", "--json"] + arguments)
        #expect(outcome.status == 111, "\(outcome.errors)")
        return (try JSONDecoder().decode(Report.self, from: outcome.output).results, ContinuousClock.now - startTime)
    }

    // MARK: Requirements of checks

    /// The name of a plugin, the code of its `forge`, and a part of the expected finding.
    static let preventingPlugins: [(String, String, String)] = [
        (
            "unlinks itself", "Dl_info i; if (dladdr((void *)forge, &i)) unlink(i.dli_fname);", "was removed"
        ),
        ("starves its parent", "struct rlimit r = { 0, 0 }; prlimit(getppid(), RLIMIT_NOFILE, &r, 0);", "resource limits"),
        (
            "starves itself", "struct rlimit r = { 1, 1 }; static int n; if (!n++) setrlimit(RLIMIT_DATA, &r);",
            "the runner lacks a resource that it had before the plugin's code ran"
        ),
    ]

    @Test(arguments: preventingPlugins.map(\.0)) func pluginThatPreventsChecksFails(_ name: String) throws {
        let (_, code, findingText) = try #require(Self.preventingPlugins.first { $0.0 == name })
        try build(Self.source("static void forge(void) { \(code) }"))
        let (results, _) = try check("--filter", "DESC-03,DESC-06,REG-01,LIFE-09", "--jobs", "1")
        let details = results.flatMap(\.findings).map(\.detail)
        #expect(details.contains { $0.contains(findingText) }, "\(results)")
    }

    @Test func pluginThatGivesNoDescriptorInLaterChecksFails() throws {
        try build(
            Self.source(
                """
                static int count;
                static void forge(void) {
                    if (count) return;
                    int file = open("\(program.path)/count", O_CREAT | O_WRONLY | O_APPEND, 0600);
                    if (write(file, "x", 1) == 1) count = (int)lseek(file, 0, SEEK_END);
                    close(file);
                }
                """, yields: "abi == 1 && count <= 2"))
        let results = try check("--filter", "DESC-04,DESC-06,REG-01,CAN-01", "--jobs", "1").results
        #expect(results.map(\.id) == ["DESC-04", "DESC-06", "REG-01", "CAN-01"])
        for result in results.suffix(2) {
            #expect(result.verdict == "failed", "\(result)")
            #expect(result.findings.contains { $0.detail.hasPrefix("the plugin behaved differently") }, "\(result)")
        }
        // The check of the rule DESC-04, which the plugin breaks, runs even if the filter excludes it.
        try program.remove("count")
        let otherResults = try check("--filter", "DESC-03,DESC-06,REG-01,CAN-01", "--jobs", "1").results
        #expect(otherResults.first { $0.id == "DESC-04" }?.verdict == "failed", "\(otherResults)")
    }

    // MARK: Verdicts

    @Test func changedTextsInTheCommandDoNotForgeAVerdict() throws {
        try build(
            Self.source(
                #"""
                static void change(const char *from, const char *to) {
                    FILE *maps = fopen("/proc/self/maps", "r");
                    char line[512], rights[5], program[512] = { 0 };
                    unsigned long start, end;
                    if (readlink("/proc/self/exe", program, 511) < 0) return;
                    while (maps && fgets(line, sizeof line, maps)) {
                        if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) != 3 || !strstr(line, program)) continue;
                        mprotect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC);
                        for (char *place = (char *)start; (place = memmem(place, (size_t)((char *)end - place), from, strlen(from)));) {
                            memcpy(place, to, strlen(to));
                        }
                    }
                    if (maps) fclose(maps);
                }
                static void forge(void) {
                    change("failed", "passed");
                    change("failure", "warning");
                }
                """#))
        let (results, _) = try check("--filter", "ORDER-02")
        #expect(results.first { $0.id == "ORDER-02" }.map { $0.verdict != "passed" && $0.verdict != "warned" } == true, "\(results)")
    }

    /// A SIGSEGV handler makes a const argument writable.
    @Test func writeToConstMemoryIsFoundDespiteASIGSEGVHandler() throws {
        try build(
            Self.source(
                "static void forge(void) {}",
                before: """
                    static void mend(int number, siginfo_t *fault, void *context) {
                        (void)number; (void)context;
                        mprotect((void *)((unsigned long)fault->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
                    }
                    """,
                make: """
                    struct sigaction action = { .sa_sigaction = mend, .sa_flags = SA_SIGINFO }, before;
                    sigaction(SIGSEGV, &action, &before);
                    *(char *)(unsigned long)request->path.bytes = 88;
                    if (request->body_length) mprotect((void *)((unsigned long)request->path.bytes & ~4095ul), 4096, PROT_READ);
                    sigaction(SIGSEGV, &before, NULL);
                    """))
        let (results, _) = try check("--filter", "LIFE-12")
        #expect(results.first?.verdict == "failed", "\(results)")
        #expect(results.first?.findings.contains { $0.detail.contains("the request of") } == true, "\(results)")
    }

    // MARK: Termination

    @Test func endOfATracedProcessIsReportedAsACrash() throws {
        try build(
            Self.source(
                """
                static void forge(void) {
                    pid_t me = getpid();
                    int ends[2];
                    char byte;
                    if (pipe(ends)) return;
                    if (fork() == 0) {
                        ptrace(PTRACE_SEIZE, me, 0, 0);
                        if (write(ends[1], "x", 1)) {}
                        sleep(100);
                        _exit(0);
                    }
                    if (read(ends[0], &byte, 1)) {}
                    _exit(7);
                }
                """))
        let (results, time) = try check("--filter", "DESC-04", "--timeout", "60")
        #expect(results.first?.verdict == "crashed" && results.first?.note == "the process exited with status 7", "\(results)")
        #expect(time < .seconds(30))
    }

    @Test func threadThatEndsSilentlyIsACrash() throws {
        try build(Self.source("static void forge(void) { syscall(SYS_exit, 0); }"))
        let (results, time) = try check("--filter", "DESC-04", "--timeout", "60")
        #expect(results.first?.verdict == "crashed", "\(results)")
        #expect(time < .seconds(30))
    }

    @Test func deeplyNestedFoldersAreRemoved() throws {
        try build(
            Self.source(
                """
                static void forge(void) {
                    char name[201], folder[600];
                    FILE *list = popen("ls -d $TMPDIR/portolan-check-*", "r");
                    if (!list || !fgets(folder, sizeof folder, list)) return;
                    folder[strcspn(folder, "\\n")] = 0;
                    pclose(list);
                    if (chdir(folder)) return;
                    memset(name, 'd', 200);
                    name[200] = 0;
                    for (int i = 0; i < 300; i++) if (mkdir(name, 0700) || chdir(name)) break;
                    chmod(".", 0);
                    _exit(0);
                }
                """))
        try program.makeFile("tmp/.keep")
        let outcome = try program.run("check", "forger", "--filter", "DESC-04", with: ["TMPDIR": "\(program.path)/tmp"])
        #expect(outcome.status == 111)
        #expect(try program.runScript("ls tmp").text == "")
    }

    /// Kills the command at about the time when it creates its temporary folder.
    @Test func signalAtTheStartLeavesNoFolder() throws {
        try build(Self.source("static void forge(void) {}"))
        let script = """
            mkdir tmp; for delay in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
            TMPDIR=$PWD/tmp $portolan check forger --filter DESC-04 > /dev/null 2>&1 & process=$!
            i=0; while [ -z "$(ls tmp)" ] && [ $i -lt 500 ] && kill -0 $process; do i=$((i + 1)); done
            kill -KILL $process; wait $process
            done
            i=0; while [ -n "$(ls tmp)" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done; ls tmp
            """
        #expect(try program.runScript(script).text == "")
    }
}
