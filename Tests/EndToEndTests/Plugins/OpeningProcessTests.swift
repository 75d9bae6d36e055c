// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Plugins that end or stop the process that opens them for `portolan plugins validate` and `watch`.
@Suite(.blocking, .timeLimit(.minutes(5)), .enabled(if: !Program.isSanitized, "AddressSanitizer is preloaded into the plugin's process"))
struct OpeningProcessTests {
    private let program: Program

    init() throws { program = try Program() }

    private func build(_ code: String) throws {
        try program.makeFile("forger/forger.c", EvasivePluginTests.source("static void forge(void) { \(code) }"))
        try program.makeFile("forger/Forger.plugin.json", EvasivePluginTests.manifest)
        let include = Repository.root.appendingPathComponent("Sources/CPortolan/include").path
        let compilation = try program.runScript("cc -shared -fPIC -fvisibility=hidden -I'\(include)' forger/forger.c -o forger/forger.so")
        #expect(compilation.status == 0, "\(compilation.errors)")
    }

    @Test func pluginThatEndsTheProcessIsNotValid() throws {
        try build(#"if (write(1, "forger: valid\n", 14)) {} _exit(0);"#)
        let outcome = try program.run("plugins", "validate", "forger")
        #expect(outcome.status == 107)
        #expect(outcome.lines.count == 1 && outcome.text.contains("opening the library ended the process"), "\(outcome.text)")
        let json = try program.run("plugins", "validate", "forger", "--json")
        #expect(json.status == 107 && json.text.contains(#""valid":false"#), "\(json.text)")
        let watch = try program.run("plugins", "watch", "forger", "--changes", "0")
        #expect(watch.status == 107)
        #expect(watch.lines.count == 1 && watch.text.contains("not opened: ") && watch.text.contains("ended the process"), "\(watch.text)")
    }

    @Test func pluginThatStopsTheProcessIsNotValid() throws {
        try build("kill(getpid(), SIGSTOP); for (;;) pause();")
        let startTime = ContinuousClock.now
        let outcome = try program.run("plugins", "validate", "forger")
        #expect(outcome.status == 107)
        #expect(outcome.text.contains("opening the library takes too long"), "\(outcome.text)")
        #expect(ContinuousClock.now - startTime < .seconds(60))
    }

    /// The supervisor is the grandparent of the process with the plugin's code. The plugin kills its grandparent only
    /// once, because the grandparent is a process of the test if the command itself opens the plugin.
    @Test func pluginThatKillsTheSupervisorIsNotOpened() throws {
        try build(
            """
            if (open("\(program.path)/once", O_CREAT | O_EXCL, 0600) < 0) return;
            char path[64], name[32] = "";
            int parent = 0;
            snprintf(path, sizeof path, "/proc/%d/stat", (int)getppid());
            FILE *file = fopen(path, "r");
            if (!file || fscanf(file, "%*d (%31[^)]) %*c %d", name, &parent) != 2) return;
            if (parent > 1 && strncmp(name, "portolan", 8) == 0) kill(parent, SIGKILL);
            pause();
            """)
        let watch = try program.run("plugins", "watch", "forger", "--changes", "0")
        #expect(watch.status == 107, "\(watch.text) \(watch.errors)")
        #expect(watch.text.contains("ended the process that supervises it"), "\(watch.text)")
    }

    @Test func noProcessOutlivesValidation() throws {
        try build(
            """
            if (fork() == 0) {
                FILE *file = fopen("\(program.path)/child", "w");
                if (file) fprintf(file, "%d\\n", (int)getpid()), fclose(file);
                setsid();
                sleep(1000);
                _exit(0);
            }
            for (int i = 0; i < 1000 && access("\(program.path)/child", F_OK) != 0; i++) usleep(1000);
            usleep(50000);
            """)
        let outcome = try program.run("plugins", "validate", "forger")
        #expect(outcome.status == 0, "\(outcome.text) \(outcome.errors)")
        let child = try #require(program.contents(of: "child").flatMap { Int32($0.filter(\.isNumber)) })
        #expect(kill(child, 0) != 0)
    }
}
