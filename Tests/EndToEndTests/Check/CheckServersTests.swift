// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Servers that the URLs of a manifest need: `services`, `needs` and `--have`.
@Suite(.blocking, .timeLimit(.minutes(10))) struct CheckServersTests {
    private let program: Program

    init() throws {
        program = try Program()
        try program.copyFixture("peer.so", to: "peer/peer.so")
        try program.makeFile("peer/finger.py", Self.fingerServer)
        try program.makeFile("peer/cache.py", Self.cacheServer)
    }

    /// A finger server. The user `slow` gets no answer. It writes its process ID to a file. Its second argument says
    /// how it starts.
    private static let fingerServer = """
        import os, signal, socket, sys, threading
        mode = sys.argv[2] if len(sys.argv) > 2 else ""
        if mode == "in the background":
            if os.fork() > 0:
                os._exit(0)
            os.setsid()
        elif mode == "ignores SIGTERM":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        elif mode != "":
            sys.exit("finger: " + mode)
        with open("finger.pid.new", "w") as file:
            file.write(str(os.getpid()))
        os.rename("finger.pid.new", "finger.pid")
        listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
        print("finger: ready", flush=True)
        print("." * 40000, flush=True)
        print("finger: serves", flush=True)
        def serve(connection):
            name = connection.makefile("rb").readline().strip().decode()
            if name == "slow":
                if "ALIVE" in os.environ:
                    os.write(int(os.environ["ALIVE"]), b"began\\n")
                connection.recv(1)
            else:
                connection.sendall(f"Login: {name}\\r\\n".encode())
            connection.close()
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """

    /// Starts memcached, and stores a value.
    private static var cacheServer: String {
        """
        import os, shutil, signal, socket, subprocess, sys, time
        path = os.environ["PATH"] + ":\(PluginConformanceTests.root.path)/.build/servers/usr/bin"
        user = ["-u", "root"] if os.getuid() == 0 else []
        server = subprocess.Popen([shutil.which("memcached", path=path), "-l", "127.0.0.1", "-p", sys.argv[1], "-U", "0"] + user)
        signal.signal(signal.SIGTERM, lambda *_: server.terminate())
        while True:
            try:
                connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
                break
            except ConnectionRefusedError:
                time.sleep(0.01)
        connection.sendall(b"set greeting 0 0 5\\r\\nhello\\r\\n")
        print(connection.recv(100).decode().strip(), "in", sys.argv[2], flush=True)
        server.wait()
        """
    }

    private static let loads = """
        "loads": [
            { "url": "finger://{finger}/alice", "needs": ["finger"], "length": 14, "mime": "text/plain", "tags": ["small"],
              "sha256": "655f4b0da326a802a23a9ef8ded904b30f0bf48587c01fbb52dee42cdc05e0bc" },
            { "url": "finger://{finger}/slow", "needs": ["finger"], "tags": ["hangs"] },
            { "url": "memcached://{cache}/greeting", "needs": ["cache"], "length": 5, "tags": ["small"],
              "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" },
            { "url": "memcached://{cache}/missing", "needs": ["cache"], "error": "notFound", "tags": ["fails"] },
            { "url": "finger:", "error": "badURL", "tags": ["fails"] }
        ]
        """

    private static let services = """
        "services": {
            "finger": { "command": ["/usr/bin/python3", "finger.py", "{port}"] },
            "cache": { "command": ["/usr/bin/python3", "cache.py", "{port}", "{folder}"], "ready": "STORED" }
        },
        """

    private func writeManifest(services: String = services) throws {
        try program.makeFile(
            "peer/peer.plugin.json",
            """
            { "identifier": "org.portolan.test.peer", "name": "Peer", "vendor": "The Portolan authors", "version": "1.0.0",
              "library": "peer.so", "schemes": ["finger", "memcached"], "permissions": ["network"],
              "conformance": { \(services) \(Self.loads) } }
            """)
    }

    /// Makes the plugin forger.c, which attacks the processes of the command in this way. It needs the finger server.
    private func makeForger(_ way: String) throws {
        try program.copyFixture("forger-\(way).so", to: "peer/forger.so")
        try program.makeFile(
            "peer/forger.plugin.json",
            """
            { "identifier": "org.portolan.forger", "name": "Forger", "vendor": "The Portolan authors", "version": "1.0.0",
              "library": "forger.so", "schemes": ["forger"], "permissions": ["network"],
              "conformance": { \(Self.services) "loads": [{ "url": "forger://{finger}/", "needs": ["finger"] }] } }
            """)
    }

    /// Whether the finger server that the program started last runs.
    private var isFingerServerRunning: Bool {
        guard let number = program.contents(of: "peer/finger.pid").flatMap({ pid_t($0) }) else { return false }
        return kill(number, 0) == 0
    }

    @Test func serversAreStartedAndEnded() throws {
        try writeManifest()
        let outcome = try program.run("check", "peer", "--level", "4", "--filter", "BODY,ERR,LIFE,CANCEL,SEC-07,THREAD-03,THREAD-09")
        #expect(outcome.status == 0, "\(outcome.text) \(outcome.errors)")
        #expect(!outcome.text.contains("needs 'finger'") && !outcome.text.contains("needs 'cache'"), "\(outcome.text)")
        let waiting = try program.run("check", "peer", "--filter", "LIFE-06", "--verbose")
        #expect(waiting.text.hasPrefix("passed   LIFE-06"), "\(waiting.text)")
        #expect(program.contents(of: "peer/finger.pid") != nil && !isFingerServerRunning)
    }

    @Test func missingServerIsTheReasonOfSkippedChecks() throws {
        try writeManifest(services: "")
        let outcome = try program.run("check", "peer", "--filter", "LIFE-06,LIFE-09", "--verbose")
        #expect(
            outcome.lines.contains {
                $0.contains(
                    "every URL tagged hangs needs 'finger': no entry of 'services' describes it; start it, and add --have NAME=HOST:PORT")
            }, "\(outcome.text)")
        #expect(outcome.text.contains("every URL that succeeds needs 'finger': no entry"), "\(outcome.text)")
        let contents = try program.run("check", "peer", "--filter", "BODY-01", "--verbose")
        #expect(
            contents.text.contains("every URL with a digest, length, MIME type or status needs 'finger': no entry"), "\(contents.text)")
    }

    @Test func serverThatDoesNotStartIsExplained() throws {
        for (command, reason) in [
            (#"["/usr/bin/python3", "finger.py", "{port}", "no room"]"#, "it ended with status 1: finger: no room"),
            (#"["no-such-program"]"#, "the program 'no-such-program' was not found"),
            (#"["./finger.py"]"#, "the program './finger.py' can't be started (errno 13)"),
            (#"["/bin/sh", "-c", "no-such-program"]"#, "it ended with status 127: /bin/sh"),
        ] {
            try writeManifest(services: "\"services\": { \"finger\": { \"command\": \(command) } },")
            let outcome = try program.run("check", "peer", "--filter", "LIFE-06", "--verbose")
            #expect(outcome.text.contains("needs 'finger': \(reason)"), "\(outcome.text)")
        }
    }

    /// Servers that SIGTERM to the first process does not end.
    private static let obstinateCommands = [
        #"["/usr/bin/python3", "finger.py", "{port}", "in the background"]"#,
        #"["/usr/bin/python3", "finger.py", "{port}", "ignores SIGTERM"]"#,
        #"["/bin/sh", "-c", "/usr/bin/python3 finger.py {port} 'ignores SIGTERM'; exit 1"]"#,
    ]

    @Test(arguments: obstinateCommands) func everyProcessOfAServerIsEnded(command: String) throws {
        try writeManifest(services: "\"services\": { \"finger\": { \"command\": \(command), \"ready\": \"finger: ready\" } },")
        let outcome = try program.run("check", "peer", "--filter", "LIFE-06", "--verbose")
        #expect(outcome.text.hasPrefix("passed   LIFE-06"), "\(outcome.text) \(outcome.errors)")
        #expect(program.contents(of: "peer/finger.pid") != nil && !isFingerServerRunning)
    }

    /// The command ends by a signal while a load runs. The server keeps a pipe open, so that the pipe ends with it.
    @Test(arguments: obstinateCommands, [("SIGINT", 130), ("SIGTERM", 143), ("SIGKILL", -9)])
    func interruptedCommandEndsItsServers(command: String, signal: (name: String, status: Int)) throws {
        try writeManifest(services: "\"services\": { \"finger\": { \"command\": \(command) } },")
        try program.makeFile(
            "run.py",
            """
            import os, signal, subprocess, sys, time
            def reset():
                for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_DFL)
            read_end, write_end = os.pipe()
            check = subprocess.Popen([sys.argv[1], "check", "peer", "--filter", "LIFE-06", "--repeat", "1000"],
                                     env=dict(os.environ, TMPDIR=os.path.abspath("tmp"), ALIVE=str(write_end)), pass_fds=[write_end],
                                     stdout=subprocess.DEVNULL, preexec_fn=reset)
            os.close(write_end)
            assert os.read(read_end, 6) == b"began\\n"
            check.send_signal(signal.\(signal.name))
            status = check.wait()
            while os.read(read_end, 4096): pass  # until the server has ended
            end = time.monotonic() + 60
            while os.listdir("tmp") and time.monotonic() < end: os.sched_yield()
            print(status, os.listdir("tmp"))
            """)
        let outcome = try program.runScript("mkdir tmp && /usr/bin/python3 run.py $portolan")
        #expect(outcome.lines == ["\(signal.status) []"], "\(outcome.text) \(outcome.errors)")
        #expect(program.contents(of: "peer/finger.pid") != nil && !isFingerServerRunning)
    }

    /// The plugin has stopped the one process that watches its checks. (With several, it could stop another one later.)
    @Test func killedCommandEndsItsServersAlsoIfItsSupervisorsAreStopped() throws {
        try makeForger("stops-parent")
        try program.makeFile(
            "run.py",
            """
            import os, signal, subprocess, sys, time
            check = subprocess.Popen([sys.argv[1], "check", "peer/forger.plugin.json", "--filter", "LIFE", "--repeat", "1000", "--jobs", "1"],
                                     env=dict(os.environ, TMPDIR=os.path.abspath("tmp")), stdout=subprocess.DEVNULL)
            def stopped():
                for name in os.listdir("/proc"):
                    try: fields = open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split() if name.isdigit() else []
                    except OSError: continue
                    if fields and int(fields[1]) == check.pid and fields[0] == "T": return True
            end = time.monotonic() + 60
            while not stopped() and time.monotonic() < end: os.sched_yield()
            check.kill()
            check.wait()
            while os.listdir("tmp") and time.monotonic() < end: os.sched_yield()
            print(os.listdir("tmp"))
            """)
        let outcome = try program.runScript("mkdir tmp && /usr/bin/python3 run.py $portolan")
        #expect(outcome.lines == ["[]"], "\(outcome.text) \(outcome.errors)")
        #expect(!isFingerServerRunning)
    }

    /// The plugin kills the process that watches its check. The servers run on.
    @Test func checksContinueWithTheServersAfterASupervisorHasEnded() throws {
        try makeForger("kills-parent")
        let outcome = try program.run("check", "peer/forger.plugin.json", "--filter", "LIFE", "--jobs", "1")
        #expect(outcome.status == 111, "\(outcome.text) \(outcome.errors)")
        #expect(outcome.text.contains("finger: serves"), "\(outcome.text)")
        #expect(!isFingerServerRunning)
    }

    /// Servers that stop the process that keeps them, or print without end. None of them makes the command hang.
    @Test(arguments: [
        ("import os, signal; os.kill(os.getppid(), signal.SIGSTOP)", "passed   LIFE-06"),
        ("import os; os.fork() or os.execvp('yes', ['yes'])", "passed   LIFE-06"),
        ("import os; os.execvp('yes', ['yes'])", "it did not print 'finger: serves' within 10 s"),
        ("import os; os.kill(os.getppid(), 9); os.execvp('sleep', ['sleep', '60'])", "portolan that supervises it was killed"),
        ("import os; os.execvp('no-such-program', ['x'])", "it ended with status 1: FileNotFoundError"),
    ])
    func strangeServerDoesNotHangTheCommand(code: String, text: String) throws {
        try program.makeFile("peer/strange.py", code + "\nexec(open('finger.py').read())")
        try writeManifest(
            services: #""services": { "finger": { "command": ["/usr/bin/python3", "strange.py", "{port}"], "ready": "finger: serves" } },"#)
        let outcome = try program.run("check", "peer", "--filter", "LIFE-06", "--verbose")
        #expect(outcome.text.contains(text), "\(outcome.text) \(outcome.errors)")
        #expect(!isFingerServerRunning)
    }

    /// Only the output that is kept is limited. A `ready` text is found after any number of bytes.
    @Test func outputOfAServerIsLimited() throws {
        try program.makeFile(
            "peer/strange.py", "import sys\nprint('x' * (20 << 20) + '\\nthe end', flush=True)\nexec(open('finger.py').read())")
        try writeManifest(
            services: #""services": { "finger": { "command": ["/usr/bin/python3", "strange.py", "{port}"], "ready": "finger: serves" } },"#)
        let manifest = try #require(program.contents(of: "peer/peer.plugin.json"))
        try program.makeFile("peer/peer.plugin.json", manifest.replacingOccurrences(of: "\"length\": 14", with: "\"length\": 15"))
        let outcome = try program.run("check", "peer", "--filter", "BODY-01")
        #expect(outcome.lines.last == "  (later output is not kept)", "\(outcome.lines.suffix(2))")
    }

    /// The server listens, but a socket filter (socket(7), SO_ATTACH_FILTER) discards every packet that reaches it, so
    /// a connection is neither accepted nor refused. A full queue does the same, but only after somebody has filled it.
    @Test func serverThatAnswersNoConnectionDoesNotHangTheCommand() throws {
        try program.makeFile(
            "peer/strange.py",
            """
            import ctypes, signal, socket, struct, sys
            return_zero = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HP", 1, ctypes.addressof(return_zero)))
            listener.bind(("127.0.0.1", int(sys.argv[1])))
            listener.listen()
            signal.pause()
            """)
        try writeManifest(services: #""services": { "finger": { "command": ["/usr/bin/python3", "strange.py", "{port}"] } },"#)
        let outcome = try program.run("check", "peer", "--filter", "LIFE-06", "--verbose")
        #expect(outcome.text.contains("needs 'finger': it accepted no connection within 10 s"), "\(outcome.text)")
    }

    /// The report says so, because the failures are not those of the plugin.
    @Test func serverThatEndsDuringTheChecksIsNamed() throws {
        try program.makeFile(
            "peer/strange.py", "import os, threading\nthreading.Timer(1, lambda: os._exit(7)).start()\nexec(open('finger.py').read())")
        try writeManifest(services: #""services": { "finger": { "command": ["/usr/bin/python3", "strange.py", "{port}"] } },"#)
        let outcome = try program.run("check", "peer", "--filter", "BODY-01", "--repeat", "2000")
        #expect(
            outcome.lines.last == "the server 'finger' did not run until the end of the checks: it ended with status 7",
            "\(outcome.lines.suffix(3))")
    }

    /// A process of the plugin keeps the descriptors of the command open.
    @Test func processOfThePluginDoesNotKeepTheServersRunning() throws {
        let source = try String(contentsOf: Repository.root.appendingPathComponent("Tests/PluginFixtures/peer.c"), encoding: .utf8)
        try program.makeFile(
            "peer/peer.c",
            source
                + "\n#include <signal.h>\n#include <sys/prctl.h>\n__attribute__((constructor)) static void leave(void) { if (fork() == 0) { prctl(PR_SET_PDEATHSIG, SIGKILL); pause(); _exit(0); } }\n"
        )
        let include = Repository.root.appendingPathComponent("Sources/CPortolan/include").path
        let made = try program.runScript("cd peer && cc -std=gnu11 -w -shared -fPIC -fvisibility=hidden -I '\(include)' peer.c -o peer.so")
        #expect(made.status == 0, "\(made.errors)")
        try writeManifest()
        let outcome = try program.run("check", "peer", "--filter", "LIFE-01", "--in-process")
        #expect(outcome.lines.last?.contains("1 check: 1 passed") == true, "\(outcome.text) \(outcome.errors)")
        #expect(!isFingerServerRunning)
    }

    /// The caller's own processes, which became children of the command, go on.
    @Test func processesOfTheCallerGoOn() throws {
        try program.copyFixture("forger-kills-parent.so", to: "forger.so")
        let outcome = try program.runScript(
            """
            sleep 60 & echo $! > sleep.pid
            sh -c 'sleep 60 & echo $! > other.pid; exec "$0" check ./forger.so --filter DESC-03 --jobs 1 > log' "$portolan"
            for name in sleep other; do kill -9 "$(cat $name.pid)" && echo "$name ran"; done
            """)
        #expect(outcome.lines == ["sleep ran", "other ran"], "\(outcome.text) \(outcome.errors)")
    }

    /// A caller that ignores SIGCHLD passes this on to the program.
    @Test func ignoredSignalsOfChildrenDoNotMatter() throws {
        try writeManifest()
        let outcome = try program.run(
            URL(fileURLWithPath: "/usr/bin/python3"),
            [
                "-c",
                "import os, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
                    + "os.execv('\(Program.executable.path)', ['portolan', 'check', 'peer', '--filter', 'LIFE-06', '--verbose'])",
            ], input: Data(), with: [:])
        #expect(outcome.status == 0 && outcome.text.hasPrefix("passed   LIFE-06"), "\(outcome.text) \(outcome.errors)")
        #expect(!isFingerServerRunning)
    }

    /// `services` in the file of `--loads`. Its folder is that of the servers.
    @Test func serversOfASeparateFileAreStarted() throws {
        try program.makeFile(
            "peer/web.py",
            """
            import http.server, sys
            http.server.test(http.server.SimpleHTTPRequestHandler, port=int(sys.argv[1]), bind="127.0.0.1")
            """)
        try program.makeFile("peer/text.txt", "hello")
        try program.makeFile(
            "peer/loads.json",
            """
            { "services": { "web": { "command": ["/usr/bin/python3", "web.py", "{port}"] } },
              "loads": [{ "url": "http://{web}/text.txt", "needs": ["web"], "length": 5, "mime": "text/plain" }] }
            """)
        let outcome = try program.run("check", "http:", "--loads", "peer/loads.json", "--filter", "BODY-01,BODY-02", "--verbose")
        #expect(outcome.status == 0 && outcome.text.contains("passed   BODY-01"), "\(outcome.text) \(outcome.errors)")
    }

    /// The same manifest without the description of this server, which the test starts itself.
    @Test func runningServerIsNamed() throws {
        try writeManifest(services: "")
        let outcome = try program.runScript(
            """
            cd peer
            /usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])' > port
            /usr/bin/python3 finger.py "$(cat port)" > log & server=$!
            until grep -q ready log || ! kill -0 $server; do :; done
            "$portolan" check . --have "finger=127.0.0.1:$(cat port)" --filter LIFE-06,BODY-01 --verbose; status=$?
            kill $server
            exit $status
            """)
        #expect(outcome.status == 0, "\(outcome.text) \(outcome.errors)")
        #expect(outcome.text.contains("passed   LIFE-06") && outcome.text.contains("passed   BODY-01"), "\(outcome.text)")
    }

    @Test func failedCheckShowsTheOutputOfTheServer() throws {
        try writeManifest()
        let manifest = try #require(program.contents(of: "peer/peer.plugin.json"))
        try program.makeFile("peer/peer.plugin.json", manifest.replacingOccurrences(of: "\"length\": 14", with: "\"length\": 15"))
        let outcome = try program.run("check", "peer", "--filter", "BODY-01")
        #expect(outcome.status == 111 && outcome.text.contains("gave 14 bytes, not 15"), "\(outcome.text)")
        #expect(outcome.text.contains("  finger: serves\n"), "\(outcome.text)")
        #expect(outcome.text.contains("the server 'cache' printed last:\n  STORED in /"), "\(outcome.text)")
    }

    @Test func outputOfAServerIsAlsoShownWithOtherFormats() throws {
        try writeManifest()
        let manifest = try #require(program.contents(of: "peer/peer.plugin.json"))
        try program.makeFile("peer/peer.plugin.json", manifest.replacingOccurrences(of: "\"length\": 14", with: "\"length\": 15"))
        let outcome = try program.run("check", "peer", "--filter", "BODY-01", "--json")
        #expect(outcome.lines.count == 1 && outcome.errors.contains("  finger: serves"), "\(outcome.errors)")
    }

    @Test func runningServerThatNoURLNeedsIsRefused() throws {
        try writeManifest()
        let twice = try program.run("check", "peer", "--have", "finger=127.0.0.1:1", "--have", "finger=127.0.0.1:2")
        #expect(twice.status == 2 && twice.errors.first?.contains("'finger' has two addresses") == true, "\(twice.errors)")
        let outcome = try program.run("check", "peer", "--have", "fingre=127.0.0.1:79")
        #expect(outcome.status == 2, "\(outcome.text)")
        #expect(outcome.errors.first?.contains("no URL needs 'fingre'; the URLs need 'cache', 'finger'") == true, "\(outcome.errors)")
    }

    @Test(arguments: [
        "finger", "finger=", "finger=host", "=host:1", "finger=:1", "finger=host:x", "finger=host:70000", "finger=host:+80",
        "finger=host:0", "finger=host/a:80", "finger=user@host:80", "finger=a b:80", "finger=a\tb:80",
    ])
    func wrongNameOfARunningServerIsRefused(text: String) throws {
        let outcome = try program.run("check", "peer", "--have", text)
        #expect(outcome.status == 2 && outcome.errors.first?.contains("--have") == true, "\(outcome.errors)")
    }
}
