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
        // Without bind(2), the socket gets a port by itself.
        ("SEC_07d", #"'subject://bytes': it listens on 0.0.0.0, port 0, but the manifest's permissions do not contain "network""#),
        (
            "SEC_07e",
            """
            'subject://bytes': the file '/etc/portolan-no-file' was created, changed, renamed or removed, but the manifest's permissions do not \
            contain "files"
            """
        ),
    ])
    func useWithoutPermissionFails(_ name: String, _ finding: String) throws {
        let outcome = try check(name)
        #expect(outcome.status == 111)
        #expect(outcome.lines.dropFirst().first == "         - \(finding)", "\(outcome.text)")
        let remedy = outcome.lines.first { $0.hasPrefix("         fix: ") }
        #expect(remedy?.contains(#""permissions": ["network"] or "permissions": ["files"]"#) == true)
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
        (#"unlink("/tmp/portolan-no-folder/file");"#, "the file '/tmp/portolan-no-folder/file' was created, changed, renamed or removed"),
        (#"rename("/tmp/portolan-no-folder/a", PLACE);"#, "the file '/tmp/portolan-no-folder/a' was created, changed, renamed or removed"),
        (
            #"symlink("/etc", "/tmp/portolan-no-folder/link");"#,
            "the file '/tmp/portolan-no-folder/link' was created, changed, renamed or removed"
        ),
        (
            #"syscall(SYS_mount, "none", "/tmp/portolan-no-folder/x", "tmpfs", 0L, 0L);"#,
            "the file '/tmp/portolan-no-folder/x' was created, changed, renamed or removed"
        ),
        (
            #"syscall(SYS_inotify_add_watch, syscall(SYS_inotify_init1, 0), "/etc/hostname", 1);"#,
            "the file '/etc/hostname' was read"
        ),
        (#"unlink(PLACE);"#, "was created, changed, renamed or removed"),
        ("futimens(open(PLACE, O_RDONLY), NULL);", "/plugin/subject.c' was created, changed, renamed or removed"),
        ("fchmod(open(PLACE, O_RDONLY), 0600);", "/plugin/subject.c' was created, changed, renamed or removed"),
        ("fchown(open(PLACE, O_RDONLY), -1, -1);", "/plugin/subject.c' was created, changed, renamed or removed"),
        (
            #"fchownat(open(PLACE, O_RDONLY), "", -1, -1, AT_EMPTY_PATH);"#,
            "/plugin/subject.c' was created, changed, renamed or removed"
        ),
        (#"fremovexattr(open(PLACE, O_RDONLY), "user.x");"#, "/plugin/subject.c' was created, changed, renamed or removed"),
        (#"if (fork() == 0) { open("/etc/hostname", O_RDONLY); _exit(0); } wait(NULL);"#, "the file '/etc/hostname' was read"),
        (#"open("/proc/self/environ", O_RDONLY);"#, "the file '/proc/self/environ' was read"),
        (#"open("/proc/thread-self/mem", O_RDONLY);"#, "the file '/proc/thread-self/mem' was read"),
        (#"system("true");"#, "the file '/bin/sh' was executed"),
        (#"if (fork() == 0) fexecve(open("/usr/bin/true", O_PATH), none, none); wait(NULL);"#, "the file '/usr/bin/true' was executed"),
        ("listen(socket(AF_INET, SOCK_STREAM, 0), 1);", "it listens on 0.0.0.0, port 0"),
        (
            "if (fork() == 0) { listen(socket(AF_INET6, SOCK_STREAM, 0), 1); _exit(0); } wait(NULL);",
            "it listens on [0:0:0:0:0:0:0:0], port 0"
        ),
        ("socket(AF_PACKET, SOCK_DGRAM, htons(3));", "it opens a raw socket of the family 17"),
        ("socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);", "it opens a raw socket of the family 2"),
        ("socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);", "it opens a netlink socket of the protocol 4"),
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
        // Files without a name.
        #"int pair[2]; pipe(pair); fchmod(pair[0], 0600); fchmod(memfd_create("x", 0), 0600);"#,
        // A program in the plugin's folder.
        #"if (fork() == 0) { execl(FOLDER "/true", "true", NULL); _exit(0); } wait(NULL);"#,
    ])
    func useThatNeedsNoPermissionPasses(_ code: String) throws {
        let outcome = try checkLibrary(opening: code)
        #expect(outcome.text.hasPrefix("passed   SEC-07"), "\(outcome.text)")
    }

    /// Each call that changes a file by its path.
    @Test func changeByPathIsSeen() throws {
        let calls = [
            ("chmod", "OLD(chmod, path, 0600)"), ("chown", "OLD(chown, path, -1, -1)"), ("lchown", "OLD(lchown, path, -1, -1)"),
            ("utime", "OLD(utime, path, NULL)"), ("utimes", "OLD(utimes, path, NULL)"),
            ("futimesat", "OLD(futimesat, AT_FDCWD, path, NULL)"), ("fchmodat", "fchmodat(AT_FDCWD, path, 0600, 0)"),
            ("fchmodat2", "syscall(452, AT_FDCWD, path, 0600, 0)"), ("fchownat", "fchownat(AT_FDCWD, path, -1, -1, 0)"),
            ("utimensat", "utimensat(AT_FDCWD, path, NULL, 0)"), ("setxattr", #"setxattr(path, "user.x", "", 0, 0)"#),
            ("lsetxattr", #"lsetxattr(path, "user.x", "", 0, 0)"#), ("removexattr", #"removexattr(path, "user.x")"#),
            ("lremovexattr", #"lremovexattr(path, "user.x")"#), ("setxattrat", #"syscall(463, AT_FDCWD, path, 0, "user.x", NULL, 0)"#),
            ("removexattrat", #"syscall(466, AT_FDCWD, path, 0, "user.x")"#),
        ]
        let code = calls.map { #"{ const char *path = "/tmp/portolan-no-folder/\#($0.0)"; \#($0.1); }"# }.joined(separator: "\n")
        let outcome = try checkLibrary(opening: code)
        let missing = calls.map(\.0).filter {
            !outcome.text.contains("the file '/tmp/portolan-no-folder/\($0)' was created, changed, renamed or removed")
        }
        #expect(missing == [], "\(outcome.text)")
    }

    /// A destructor, and a thread that is still running when the instance has ended.
    @Test(arguments: ["read_hostname", "start_late_thread"])
    func useAtTheEndIsSeen(_ function: String) throws {
        let outcome = try checkLibrary(opening: "atexit(\(function));")
        #expect(
            outcome.text.contains(
                #"while it was ended: the file '/etc/hostname' was read, but the manifest's permissions do not contain "files""#),
            "\(outcome.text)")
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
            #include <sys/xattr.h>
            #include <utime.h>
            #define FOLDER "\(program.folder.path)/plugin"
            #define PLACE FOLDER "/subject.c"
            #pragma GCC diagnostic ignored "-Wunused-result"
            // Calls that not all processors have.
            #ifdef SYS_chmod
            #define OLD(call, ...) syscall(SYS_##call, __VA_ARGS__)
            #else
            #define OLD(call, ...) unlink(path)
            #endif
            UNUSED static char *none[] = { NULL };
            UNUSED static void read_hostname(void) { open("/etc/hostname", O_RDONLY); }
            UNUSED static void *read_late(void *nothing) {
                pause_for(50);
                read_hostname();
                return nothing;
            }
            UNUSED static void start_late_thread(void) {
                pthread_t thread;
                pthread_create(&thread, NULL, read_late, NULL);
            }
            __attribute__((constructor)) static void use(void) {
                struct sockaddr_in address UNUSED = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
                struct sockaddr_nl netlink UNUSED = { .nl_family = AF_NETLINK };
                \(code)
            }
            """)
        let made = try program.runScript(
            """
            cd plugin && cc -std=gnu11 -w -shared -fPIC -pthread -fvisibility=hidden -I '\(include)' subject.c -o good.so &&
            cp '\(Mutant.folder.path)/good.plugin.json' . && cp /usr/bin/true .
            """)
        #expect(made.status == 0, "\(made.errors)")
        return try program.run("check", "plugin/good.plugin.json", "--filter", "SEC-07", "-v")
    }
}
