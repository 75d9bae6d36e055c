// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import Foundation
    import TestThreads
    import Testing

    /// `portolan background` and `portolan transferd`, with a service in a process of its own.
    @Suite(.blocking, .timeLimit(.minutes(4))) struct BackgroundTests {
        private let program: Program

        init() throws {
            program = try Program()
            try program.makeFile("service.py", Self.service)
            try program.makeFile("server.py", Self.server)
        }

        /// Ends the service of the test's folder, which every test starts.
        private static let service = """
            import os, signal, subprocess, sys
            folder = ".local/state/portolan/transfers"
            portolan = sys.argv[1]

            def pid(): return int(open(folder + "/transferd.lock").readline())

            def kill(signal_number=signal.SIGKILL):
                # A file descriptor of the process says when it has ended: pidfd_open(2).
                try: descriptor = os.pidfd_open(pid())
                except (OSError, ValueError): return
                signal.pidfd_send_signal(descriptor, signal_number)
                import select
                select.select([descriptor], [], [])

            def run(*arguments):
                result = subprocess.run([portolan, "background", *arguments], capture_output=True, text=True)
                return result.returncode, result.stdout, result.stderr
            """

        /// A server of files with ranges. It reports how many bytes it has sent, and can wait there.
        private static let server = """
            import http.server, re, threading

            class Files(http.server.ThreadingHTTPServer):
                daemon_threads = True
                request_queue_size = 64
                def handle_error(self, *_): pass

            class Handler(http.server.BaseHTTPRequestHandler):
                protocol_version = "HTTP/1.1"
                def log_message(self, *_): pass
                def do_PUT(self):
                    state.uploads.append(self.rfile.read(int(self.headers["Content-Length"])))
                    self.send_response(201); self.send_header("Content-Length", "0"); self.end_headers()
                def do_POST(self):
                    state.uploads.append(self.rfile.read(int(self.headers["Content-Length"])))
                    self.send_response(303); self.send_header("Location", "http://127.0.0.1:1/")
                    self.send_header("Content-Length", "0"); self.end_headers()
                def do_HEAD(self):
                    self.rfile.read(int(self.headers["Content-Length"]))
                    self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers()
                def do_GET(self):
                    if self.path == "/secret" and self.headers.get("Authorization") != "Basic dTpw":
                        self.send_response(401); self.send_header("WWW-Authenticate", 'Basic realm="r"')
                        self.send_header("Content-Length", "0"); return self.end_headers()
                    if self.path not in state.files: return self.send_error(404)
                    data, first = state.files[self.path], 0
                    found = re.match(r"bytes=(\\d+)-$", self.headers.get("Range") or "")
                    if found and self.headers.get("If-Range") == '"1"':
                        first = int(found[1])
                        self.send_response(206 if first < len(data) else 416)
                        self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}" if first < len(data) else f"bytes */{len(data)}")
                    else: self.send_response(200)
                    self.send_header("ETag", '"1"'); self.send_header("Content-Length", str(max(0, len(data) - first))); self.end_headers()
                    for start in range(first, len(data), 4096):
                        self.wfile.write(data[start:start + 4096])
                        state.count(4096)

            class State:
                def __init__(self): self.files, self.uploads, self.sent, self.limit, self.condition = {}, [], 0, None, threading.Condition()
                def count(self, bytes):
                    with self.condition:
                        self.sent += bytes
                        self.condition.notify_all()
                        self.condition.wait_for(lambda: self.limit is None or self.sent < self.limit)
                def wait(self):
                    with self.condition: self.condition.wait_for(lambda: self.sent >= self.limit)
                def set_limit(self, limit):
                    with self.condition:
                        self.limit = limit
                        self.condition.notify_all()

            state = State()
            server = Files(("127.0.0.1", 0), Handler)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_address[1]}"
            """

        private func runPython(_ script: String) throws -> Program.Outcome {
            try program.makeFile(
                "test.py",
                """
                import json, os, random, signal, subprocess, sys
                sys.path.insert(0, ".")
                from service import *
                from server import *
                try:
                \(script.split(separator: "\n", omittingEmptySubsequences: false).map { "    \($0)" }.joined(separator: "\n"))
                finally:
                    kill()
                """)
            return try program.runScript("/usr/bin/python3 -B test.py $portolan")
        }

        /// The acceptance of the background transfers: a program adds three downloads and ends, the service is killed
        /// and started again, and another program receives the three ends once.
        @Test func addedDownloadsOutliveTheProgramAndTheService() throws {
            let outcome = try runPython(
                """
                for name in "abc": state.files["/" + name] = random.randbytes(100_000)
                state.set_limit(60_000)
                for name in "abc": assert run("add", f"{url}/{name}", "-o", name)[0] == 0
                state.wait()
                kill()
                state.set_limit(None)
                code, text, errors = run("wait", "--json")
                ends = [json.loads(line) for line in text.splitlines()]
                print(code, sorted((os.path.basename(end["path"]), end["state"], end["bytes"]) for end in ends), errors)
                print(all(open(name, "rb").read() == state.files["/" + name] for name in "abc"), run("list")[1], run("wait"))
                """)
            #expect(
                outcome.lines == [
                    "0 [('a', 'finished', 100000), ('b', 'finished', 100000), ('c', 'finished', 100000)] ", "True  (0, '', '')",
                ], "\(outcome)")
            #expect(try program.files.filter { !$0.hasSuffix(".py") } == [".local", "a", "b", "c"])
        }

        /// The service is killed at random places of twenty transfers. Each file is complete, and ends once. The number
        /// of rounds is PORTOLAN_TRANSFER_KILLS (8).
        @Test func killedServiceEndsEachTransferOnce() throws {
            let rounds = ProcessInfo.processInfo.environment["PORTOLAN_TRANSFER_KILLS"].flatMap { Int($0) } ?? 8
            let outcome = try runPython(
                """
                generator = random.Random(26)
                size = max(40_000, 4096 * \(rounds))
                names = [f"f{number}" for number in range(16)]
                for name in names: state.files["/" + name] = generator.randbytes(size)
                open("up", "wb").write(generator.randbytes(50_000))
                # An existing file stays, and the download gets a number.
                open("f3", "w").write("old")
                keys = []
                state.set_limit(1)
                for number, name in enumerate(names):
                    keys.append(json.loads(run("add", f"{url}/{name}", "--json", "-o", name, "--no-clobber")[1])["id"])
                for number in range(4): keys.append(json.loads(run("add", f"{url}/up{number}", "-T", "up", "--json")[1])["id"])
                kills = 0
                for round in range(\(rounds)):
                    state.set_limit(state.sent + generator.randrange(1, 8 * size // \(rounds)))
                    code, text, errors = run("list", "--json")
                    assert code == 0, errors
                    if all(json.loads(line)["state"] not in ("waiting", "running") for line in text.splitlines()): break
                    with state.condition: state.condition.wait_for(lambda: state.sent >= state.limit, timeout=2)
                    kill()
                    kills += 1
                state.set_limit(None)
                code, text, errors = run("wait", "--json")
                ends = [json.loads(line) for line in text.splitlines()]
                print(code, errors, kills, sorted(end["id"] for end in ends) == sorted(keys), {end["state"] for end in ends})
                wrong = [end["path"] for end in ends if end["kind"] == "download" and open(end["path"], "rb").read() != state.files["/" + end["url"].split("/")[-1]]]
                print(wrong, len({end["path"] for end in ends if end["kind"] == "download"}), {len(upload) for upload in state.uploads})
                print(sorted(set(os.listdir(".")) - set(names) - {"up", "f3.1", "test.py", "service.py", "server.py", ".local"}), run("wait"), open("f3").read())
                """)
            #expect(outcome.lines == ["0  \(rounds) True {'finished'}", "[] 16 {50000}", "[] (0, '', '') old"], "\(outcome)")
        }

        @Test func transferThatNeedsAPasswordIsResumedWithIt() throws {
            let outcome = try runPython(
                """
                state.files["/secret"] = b"secret"
                print(run("add", f"{url}/secret", "-o", "secret", "--json", "-H", "X-Key: tokensecret")[0])
                code, text, errors = run("wait")
                print(code, errors.strip().replace(url, "URL"))
                print(run("resume", "1", "-u", "u:wrong")[0], run("wait")[0])
                print(run("resume", "1", "-u", "u:p")[0], run("wait")[0], open("secret").read())
                names = [name for name in os.listdir(folder) if name.startswith("transfers.sqlite")]
                print([name for name in names if b"tokensecret" in open(folder + "/" + name, "rb").read()], "transfers.sqlite-wal" in names)
                """)
            #expect(
                outcome.lines == [
                    "0",
                    "67 portolan: transfer 1 (URL/secret): 'URL/secret' was not downloaded: the response is 401 Unauthorized; "
                        + "give it with 'portolan background resume 1 -u USER:PASSWORD'",
                    "0 67", "0 0 secret", "[] True",
                ], "\(outcome)")
        }

        @Test func cancelPrintsTheStateAfterIt() throws {
            let outcome = try runPython(
                """
                state.files["/a"] = bytes(100_000)
                state.set_limit(5_000)
                run("add", url.replace("http://", "u:p@") + "/a", "-o", "a")
                state.wait()
                print(*(json.loads(run("cancel", "1", "--json")[1])[name] for name in ("state", "url")))
                state.set_limit(None)
                """)
            #expect(outcome.text.hasPrefix("cancelled http://127.0.0.1:"), "\(outcome)")
            #expect(!outcome.text.contains("u:p@"))
        }

        @Test func failuresHaveTheExitStatusOfGet() throws {
            let outcome = try runPython(
                """
                for arguments in [("add", f"{url}/a"), ("add", "htp", "--nosuch"), ("add", "htp", "-o", "a", "-X", "POST"), ("show", "7"), ("cancel", "7"), ("show", "x")]:
                    code, text, errors = run(*arguments)
                    print(code, errors.strip())
                run("add", f"{url}/missing", "-o", "missing"); run("add", f"{url}/missing", "-o", "nofolder/a")
                state.files["/missing"] = b"x"
                code, text, errors = run("wait", "--json")
                print(code, [json.loads(line)["state"] for line in text.splitlines()])
                """)
            #expect(
                outcome.lines.dropLast() == [
                    "2 portolan: -o: a download needs the name of a file (see 'portolan help background add')",
                    "2 portolan: Unknown option '--nosuch' (see 'portolan help background add')",
                    "2 portolan: -X: a download has the method GET; upload a file with -T (see 'portolan help background add')",
                    "37 portolan: there is no transfer 7; its end was acknowledged, or it was never added",
                    "37 portolan: there is no transfer 7; its end was acknowledged, or it was never added",
                    "2 portolan: The value 'x' is invalid for '<number>' (see 'portolan help background show')",
                ], "\(outcome)")
            #expect(outcome.lines.last?.hasSuffix("'failed']") == true)
        }

        /// The service lives longer than the program that starts it.
        @Test func serviceKeepsNothingOfItsStarter() throws {
            let outcome = try runPython(
                """
                lock = open("lock", "w")
                os.set_inheritable(lock.fileno(), True)
                start = "trap '' TERM; umask 0; exec $0 background list"
                subprocess.run(["/bin/sh", "-c", start, portolan], pass_fds=[lock.fileno()], check=True)
                targets = [os.readlink(f"/proc/{pid()}/fd/{number}") for number in os.listdir(f"/proc/{pid()}/fd")]
                print([target for target in targets if target.endswith("/lock")])
                status = dict(line.strip("\\n").split(":\\t", 1) for line in open(f"/proc/{pid()}/status") if ":\\t" in line)
                print(status["Umask"], int(status["SigIgn"], 16) >> (signal.SIGTERM - 1) & 1)
                state.files["/a"] = b"a"
                subprocess.run(["/bin/sh", "-c", "umask 027; exec $0 background add $1 -o a", portolan, url + "/a"], check=True, stdout=subprocess.DEVNULL)
                run("wait")
                print(oct(os.stat("a").st_mode & 0o777))
                kill(signal.SIGTERM)
                print("ended")
                """)
            #expect(outcome.lines == ["[]", "0077 0", "0o640", "ended"], "\(outcome)")
        }

        /// Nobody listens at the target of the redirect. RFC 9110 §9.2.2
        @Test func redirectedPostIsNotSentAgain() throws {
            let outcome = try runPython(
                """
                open("up", "w").write("abc")
                run("add", f"{url}/a", "-T", "up", "-X", "POST")
                code, text, errors = run("wait")
                print(text.split()[1], "POST must not be sent twice" in text + errors, state.uploads)
                run("add", f"{url}/a", "-T", "up", "-X", "HEAD", "-o", "out")
                print(run("wait")[1].split()[1], os.stat("out").st_size)
                """)
            #expect(outcome.lines == ["failed True [b'abc']", "finished 0"], "\(outcome)")
        }

        @Test func endThatCannotBePrintedIsKept() throws {
            let outcome = try runPython(
                """
                state.files["/a"] = b"a"
                run("add", f"{url}/a", "-o", "a")
                result = subprocess.run([portolan, "background", "wait"], stdout=open("/dev/full", "w"), stderr=subprocess.PIPE)
                print(result.returncode, run("wait")[1].split()[1])
                code, text, errors = run("add", f"{url}/a", "-o", "b", "-H", "User-Agent:")
                print(code, errors.strip())
                for number in (2, 3): run("add", f"{url}/missing", "-o", f"c{number}")
                print(run("cancel", "99", "2", "--json")[:1], run("list", "--json")[1].count("{"))
                """)
            #expect(
                outcome.lines == [
                    "23 finished",
                    "2 portolan: -H: a background transfer can't leave out 'User-Agent'; only 'portolan get' can (see 'portolan help background add')",
                    "(37,) 2",
                ], "\(outcome)")
        }

        /// Programs with different environments use one service.
        @Test func serviceIsFoundWithAnotherEnvironment() throws {
            let outcome = try runPython(
                """
                os.mkdir("run", 0o700)
                print(run("list"))
                first = pid()
                os.environ["XDG_RUNTIME_DIR"] = os.path.abspath("run")
                print(run("list"), first == pid())
                os.remove(folder + "/transferd.sock")
                code, text, errors = run("list")
                print(code, errors.strip().replace(os.getcwd(), "."))
                """)
            #expect(
                outcome.lines == [
                    "(0, '', '')", "(0, '', '') True",
                    "7 portolan: the transfer service runs, but its sockets are gone; end its process, whose number is in './.local/state/portolan/transfers/transferd.lock'",
                ], "\(outcome)")
        }

        @Test func serviceReportsADamagedJournalInItsLog() throws {
            let outcome = try runPython(
                """
                os.makedirs(folder, mode=0o700)
                open(folder + "/transfers.sqlite", "wb").write(b"no database" * 1000)
                print(run("list"))
                log = folder + "/transferd.log"
                print(open(log).read().count("transfers.sqlite.corrupt-1'"), oct(os.stat(log).st_mode & 0o777))
                """)
            #expect(outcome.lines == ["(0, '', '')", "1 0o600"], "\(outcome)")
        }

        @Test(.enabled(if: geteuid() == 0, "only root can become another user")) func otherUsersAreRefused() throws {
            let outcome = try runPython(
                """
                run("list")
                for path in [".", ".local", ".local/state", ".local/state/portolan", folder]: os.chmod(path, 0o711)
                os.chmod(folder + "/transferd.sock", 0o666)
                client = \"\"\"if True:
                    import socket, sys
                    client = socket.socket(socket.AF_UNIX); client.connect(sys.argv[1]); client.settimeout(20)
                    try: client.send(b'{"list":{}}' + bytes([10])); print(client.recv(100))
                    except OSError as error: print(type(error).__name__)
                \"\"\"
                for user in (0, 65534):
                    print(subprocess.run([sys.executable, "-c", client, folder + "/transferd.sock"], user=user, capture_output=True, text=True).stdout.strip())
                """)
            #expect(outcome.lines.first == #"b'{"transfers":{"_0":[]}}\n'"#, "\(outcome)")
            #expect(["b''", "BrokenPipeError", "ConnectionResetError"].contains(outcome.lines.last))
        }

        /// The service prints why it can't start, and the command says it.
        @Test func reasonOfAServiceThatCannotStartIsReported() throws {
            try program.makeFile(".local/state/portolan/transfers/transfers.sqlite/file")
            let outcome = try program.run("background", "list")
            #expect(outcome.status == 7 && outcome.errors.count == 1, "\(outcome)")
            #expect(outcome.errors.first?.hasPrefix("portolan: the transfer service did not start: '") == true)
            #expect(outcome.errors.first?.contains("transfers.sqlite' is not a regular file") == true)
        }
    }
#endif
