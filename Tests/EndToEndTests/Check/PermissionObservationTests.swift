// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// `portolan check` observes which network and which files a plugin uses, and compares them with its manifest: SEC-07.
@Suite(.blocking, .timeLimit(.minutes(5)), .enabled(if: !Program.isSanitized, "it tests system calls, not memory"))
struct PermissionObservationTests {
    private let program: Program

    init() throws { program = try Program() }

    /// The text output of SEC-07 for a manifest of the folder of mutants.
    private func check(_ name: String, _ arguments: String...) throws -> Program.Outcome {
        try program.run(
            ["check", Mutant.folder.appendingPathComponent("\(name).plugin.json").path, "--filter", "SEC-07", "-v"] + arguments)
    }

    @Test(arguments: [
        ("SEC_07", #"'subject://bytes': it connects to 127.0.0.1, port 9, but the manifest's permissions do not contain "network""#),
        ("SEC_07b", #"'subject://bytes': the file '/etc/hostname' was read, but the manifest's permissions do not contain "files""#),
        // Without the C library, on a thread of the plugin that blocks every signal.
        ("SEC_07c", #"'subject://bytes': the file '/etc/hostname' was read, but the manifest's permissions do not contain "files""#),
    ])
    func useWithoutPermissionFails(_ name: String, _ finding: String) throws {
        let outcome = try check(name)
        #expect(outcome.status == 111)
        #expect(outcome.lines.dropFirst().first == "         - \(finding)", "\(outcome.text)")
    }

    @Test(arguments: ["good", "network", "files"])
    func useWithPermissionPasses(_ name: String) throws {
        let outcome = try check(name)
        #expect(outcome.status == 0)
        #expect(outcome.text.hasPrefix("passed   SEC-07"), "\(outcome.text)")
    }

    /// A seccomp filter refuses to install another one, as the filter of a container can.
    @Test func checkIsSkippedWithoutTheObservation() throws {
        try program.makeFile(
            "confined.py",
            """
            import ctypes, os, struct, sys
            def step(code, k, yes=0, no=0): return struct.pack("HBBI", code, yes, no, k)
            number = {"x86_64": 317, "aarch64": 277}[os.uname().machine]  # seccomp(2)
            steps = step(0x20, 0) + step(0x15, number, 0, 1) + step(0x06, 0x00050000 | 1) + step(0x06, 0x7FFF0000)  # EPERM
            buffer = ctypes.create_string_buffer(steps)
            program = ctypes.create_string_buffer(struct.pack("HP", len(steps) // 8, ctypes.addressof(buffer)))
            prctl = ctypes.CDLL(None, use_errno=True).prctl
            assert prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
            assert prctl(22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0) == 0  # PR_SET_SECCOMP
            os.execv(sys.argv[1], sys.argv[1:])
            """)
        let manifest = Mutant.folder.appendingPathComponent("SEC_07.plugin.json").path
        let outcome = try program.runScript("/usr/bin/python3 confined.py $portolan check '\(manifest)' --filter SEC-07 -v")
        #expect(outcome.text.hasPrefix("skipped  SEC-07"), "\(outcome.text) \(outcome.errors)")
        #expect(outcome.text.contains("does not let the runner observe system calls (seccomp_unotify(2), errno 1)"), "\(outcome.text)")
        #expect(outcome.status == 111)
    }

    @Test func checkIsSkippedInProcess() throws {
        let outcome = try check("SEC_07", "--in-process")
        #expect(outcome.text.contains("run the check without --in-process"), "\(outcome.text)")
        #expect(outcome.status == 111)
    }

    /// Each way to use a file or an address, in the constructor of a library. `PLACE` is a file in the plugin's folder.
    @Test(arguments: [
        (#"open("/etc/../etc/hostname", O_RDONLY);"#, "the file '/etc/../etc/hostname' was read"),
        (#"int folder = open("/etc", O_PATH); openat(folder, "hostname", O_RDONLY);"#, "the file '/etc/hostname' was read"),
        (#"creat("/tmp/portolan-no-folder/file", 0600);"#, "the file '/tmp/portolan-no-folder/file' was written"),
        (#"open("/usr/lib/portolan-no-folder/file", O_WRONLY);"#, "the file '/usr/lib/portolan-no-folder/file' was written"),
        (#"open("/usr/lib/../../etc/hostname", O_RDONLY);"#, "the file '/usr/lib/../../etc/hostname' was read"),
        (#"unlink("/tmp/portolan-no-folder/file");"#, "the file '/tmp/portolan-no-folder/file' was created, renamed or removed"),
        (#"rename("/tmp/portolan-no-folder/a", PLACE);"#, "the file '/tmp/portolan-no-folder/a' was created, renamed or removed"),
        (#"symlink("/etc", "/tmp/portolan-no-folder/link");"#, "the file '/tmp/portolan-no-folder/link' was created, renamed or removed"),
        (#"unlink(PLACE);"#, "was created, renamed or removed"),
        (#"if (fork() == 0) { open("/etc/hostname", O_RDONLY); _exit(0); } wait(NULL);"#, "the file '/etc/hostname' was read"),
        ("bind(socket(AF_INET, SOCK_DGRAM, 0), (void *)&address, sizeof address);", "it binds a socket to 127.0.0.1, port 0"),
        (
            #"address.sin_port = htons(9); sendto(socket(AF_INET, SOCK_DGRAM, 0), "", 1, 0, (void *)&address, sizeof address);"#,
            "it sends to 127.0.0.1, port 9"
        ),
        (
            """
            struct msghdr message = { .msg_name = &address, .msg_namelen = sizeof address };
            address.sin_port = htons(9);
            sendmsg(socket(AF_INET, SOCK_DGRAM, 0), &message, 0);
            """,
            "it sends to 127.0.0.1, port 9"
        ),
        (
            """
            struct sockaddr_un local = { AF_UNIX, "/tmp/portolan-no-folder/socket" };
            connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&local, sizeof local);
            """,
            "the file '/tmp/portolan-no-folder/socket' was written"
        ),
    ])
    func useIsSeen(_ code: String, _ finding: String) throws {
        let outcome = try checkLibrary(opening: code)
        #expect(outcome.text.contains("while it was opened and started: ") && outcome.text.contains(finding), "\(outcome.text)")
        #expect(outcome.status == 111)
    }

    @Test(arguments: [
        #"open(PLACE, O_RDONLY);"#, #"open("/dev/null", O_RDWR);"#, #"open("/dev/urandom", O_RDONLY);"#,
        #"open("/etc/localtime", O_RDONLY);"#,
        #"open("/proc/self/maps", O_RDONLY);"#, #"getpwuid(getuid());"#, #"open("/usr/lib/locale/missing", O_RDONLY);"#,
        #"int pair[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, pair); send(pair[0], "", 1, 0);"#,
        #"bind(socket(AF_NETLINK, SOCK_RAW, 0), (void *)&netlink, sizeof netlink);"#,
    ])
    func useThatNeedsNoPermissionPasses(_ code: String) throws {
        let outcome = try checkLibrary(opening: code)
        #expect(outcome.text.hasPrefix("passed   SEC-07"), "\(outcome.text)")
    }

    /// The result of io_uring can't be seen, so the check gives no verdict.
    @Test func ringIsNotJudged() throws {
        let outcome = try checkLibrary(opening: "char parameters[120] = { 0 }; syscall(SYS_io_uring_setup, 1, parameters);")
        #expect(outcome.text.hasPrefix("skipped  SEC-07") && outcome.text.contains("io_uring"), "\(outcome.text)")
    }

    /// Checks the good subject with another constructor.
    private func checkLibrary(opening code: String) throws -> Program.Outcome {
        let include = Mutant.source.appendingPathComponent("../../../Sources/CPortolan/include").path
        try program.makeFile(
            "plugin/subject.c",
            """
            #include "\(Mutant.source.path)/mutant.c"
            #include <linux/netlink.h>
            #include <pwd.h>
            #include <sys/un.h>
            #include <sys/wait.h>
            #define PLACE "\(program.folder.path)/plugin/subject.c"
            #pragma GCC diagnostic ignored "-Wunused-result"
            __attribute__((constructor)) static void use(void) {
                struct sockaddr_in address UNUSED = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
                struct sockaddr_nl netlink UNUSED = { .nl_family = AF_NETLINK };
                \(code)
            }
            """)
        let made = try program.runScript(
            """
            cd plugin && cc -std=gnu11 -w -shared -fPIC -pthread -fvisibility=hidden -I '\(include)' subject.c -o good.so &&
            cp '\(Mutant.folder.path)/good.plugin.json' .
            """)
        #expect(made.status == 0, "\(made.errors)")
        return try program.run("check", "plugin/good.plugin.json", "--filter", "SEC-07", "-v")
    }
}
