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

    /// A finger server. The user `slow` gets no answer. It writes its process ID to a file.
    private static let fingerServer = """
        import os, socket, sys, threading
        with open("finger.pid", "w") as file:
            file.write(str(os.getpid()))
        if len(sys.argv) > 2:
            sys.exit("finger: " + sys.argv[2])
        listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
        print("finger: ready", flush=True)
        def serve(connection):
            name = connection.makefile("rb").readline().strip().decode()
            if name == "slow":
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
    }

    @Test func serverThatDoesNotStartIsExplained() throws {
        for (command, reason) in [
            (#"["/usr/bin/python3", "finger.py", "{port}", "no room"]"#, "it ended with status 1: finger: no room"),
            (#"["no-such-program"]"#, "the program 'no-such-program' was not found"),
        ] {
            try writeManifest(services: "\"services\": { \"finger\": { \"command\": \(command) } },")
            let outcome = try program.run("check", "peer", "--filter", "LIFE-06", "--verbose")
            #expect(outcome.text.contains("needs 'finger': \(reason)"), "\(outcome.text)")
        }
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
        #expect(outcome.text.contains("the server 'finger' printed last:\n  finger: ready"), "\(outcome.text)")
        #expect(outcome.text.contains("the server 'cache' printed last:\n  STORED in /"), "\(outcome.text)")
    }

    @Test(arguments: ["finger", "finger=", "finger=host", "=host:1", "finger=:1", "finger=host:x", "finger=host:70000"])
    func wrongNameOfARunningServerIsRefused(text: String) throws {
        let outcome = try program.run("check", "peer", "--have", text)
        #expect(outcome.status == 2 && outcome.errors.first?.contains("--have") == true, "\(outcome.errors)")
    }
}
