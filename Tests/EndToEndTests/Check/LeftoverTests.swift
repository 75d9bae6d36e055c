// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// `portolan check` leaves no files or processes behind, whatever the plugin does and however the command ends.
@Suite(.blocking, .timeLimit(.minutes(10)), .enabled(if: !Program.isSanitized, "the suite tests processes, not memory"))
struct LeftoverTests {
    private let program: Program

    /// A plugin whose entry function starts a process in a new session. That process has the FIFO `alive` open for
    /// writing until it ends.
    init() throws {
        program = try Program()
        try program.makeFile(
            "plugin/left.c",
            """
            #include <fcntl.h>
            #include <stdint.h>
            #include <stdlib.h>
            #include <unistd.h>
            void *portolan_plugin_entry(uint32_t major) {
                (void)major;
                if (fork() == 0) {
                    setsid();
                    if (fork() != 0) _exit(0);
                    if (write(open(getenv("ALIVE"), O_WRONLY), "began\\n", 6) != 6) _exit(1);
                    for (;;) pause();
                }
                if (getenv("HANGS")) for (;;) pause();
                return NULL;
            }
            """)
        let compilation = try program.runScript("mkdir tmp && mkfifo alive && cd plugin && cc -shared -fPIC left.c -o left.so && rm left.c")
        #expect(compilation.status == 0, "\(compilation.errors)")
    }

    /// Runs the command, waits until the plugin's process has started, and executes `action`, a Python statement in
    /// which `check` is the command. Then waits until the plugin's process has ended and the command's processes had
    /// time to remove their files. Returns the command's status, the files in the temporary folder, and the files in
    /// the plugin's folder.
    private func run(_ arguments: String, hangs: Bool, _ action: String) throws -> [String] {
        let script = """
            import os, signal, subprocess, sys, time
            environment = dict(os.environ, ALIVE="alive", TMPDIR=os.path.abspath("tmp"))
            if \(hangs ? "True" : "False"): environment["HANGS"] = "1"
            def reset():
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(number, signal.SIG_DFL)
            check = subprocess.Popen([sys.argv[1], "check", "plugin/left.so"] + sys.argv[2:], env=environment, stdout=subprocess.DEVNULL,
                                     preexec_fn=reset)
            alive = open("alive")
            assert alive.readline() == "began\\n"
            \(action)
            status = check.wait()
            alive.read()  # returns when the last of the plugin's processes has ended
            end = time.monotonic() + 60
            while os.listdir("tmp") and time.monotonic() < end: os.sched_yield()
            print(status, os.listdir("tmp"), sorted(os.listdir("plugin")))
            """
        try program.makeFile("run.py", script)
        let outcome = try program.runScript("/usr/bin/python3 run.py $portolan \(arguments)")
        #expect(outcome.status == 0, "\(outcome.errors)")
        return outcome.lines
    }

    @Test(arguments: [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129), ("SIGKILL", -9)], [true, false])
    func interruptedCommandLeavesNothing(_ signal: (name: String, status: Int), isUnderValgrind: Bool) throws {
        let lines = try run(
            "--filter DESC-03,REG-01 --timeout 300 \(isUnderValgrind ? "--sanitizer" : "")", hangs: true,
            "check.send_signal(signal.\(signal.name))")
        #expect(lines == ["\(signal.status) [] ['left.so']"])
    }

    @Test func processInANewSessionIsEndedWithItsCheck() throws {
        #expect(try run("--filter DESC-04", hangs: false, "pass") == ["111 [] ['left.so']"])
    }

    @Test func processThatOutlivesItsCheckIsReported() throws {
        let outcome = try program.run("check", "plugin/left.so", "--filter", "DESC-04", with: ["ALIVE": "/dev/null"])
        #expect(outcome.status == 111)
        #expect(outcome.text.contains("failed   UNLOAD-04"), "\(outcome.text)")
        #expect(outcome.text.contains("outlived the check: 'portolan'"), "\(outcome.text)")
    }

    /// The fork has the process's descriptors open. The command must not wait for the fork.
    @Test func processThatForksAndExitsIsReportedAsACrashImmediately() throws {
        try program.makeFile(
            "ends.c",
            """
            #include <stdint.h>
            #include <unistd.h>
            void *portolan_plugin_entry(uint32_t major) {
                (void)major;
                if (fork() != 0) _exit(7);
                setsid();
                for (;;) pause();
            }
            """)
        #expect(try program.runScript("cc -shared -fPIC ends.c -o ends.so").status == 0)
        let startTime = ContinuousClock.now
        let outcome = try program.run("check", "./ends.so", "--filter", "DESC-03", "--timeout", "300")
        #expect(outcome.text.contains("crashed  DESC-03") && outcome.text.contains("the process exited with status 7"))
        #expect(ContinuousClock.now - startTime < .seconds(100))
    }

    /// The folder is read-only, and the test checks its times. So the command creates no file there, not even for a
    /// short time.
    @Test func noFileIsCreatedBesideThePlugin() throws {
        try program.installTemplate(in: "installed")
        let outcome = try program.runScript(
            """
            cd installed/Template && chmod a-w . && before=$(stat -c '%y %z' .)
            TMPDIR=$PWD/../../tmp $portolan check . --level 3 --json > ../../report.json; echo $?
            [ "$before" = "$(stat -c '%y %z' .)" ] && echo same; ls -A ../../tmp; chmod u+w .
            """)
        #expect(outcome.lines == ["0", "same"], "\(outcome.lines) \(outcome.errors)")
    }

    /// The library crashes in its constructor while the dynamic linker opens a copy of it.
    @Test func crashRemovesTheCopyOfTheLibrary() throws {
        try program.makeFile(
            "crash.c",
            """
            #include <dlfcn.h>
            #include <stdlib.h>
            #include <string.h>
            __attribute__((constructor)) static void begin(void) {
                Dl_info information;
                if (dladdr((void *)begin, &information) && !strstr(information.dli_fname, "/own/")) abort();
            }
            """)
        let outcome = try program.runScript(
            """
            mkdir own && cc -D_GNU_SOURCE -shared -fPIC crash.c -o own/crash.so
            TMPDIR=$PWD/tmp $portolan check own/crash.so --filter DESC-13,UNLOAD-02 > /dev/null; ls -A tmp own
            """)
        #expect(outcome.lines == ["own:", "crash.so", "tmp:"], "\(outcome.lines)")
    }
}
