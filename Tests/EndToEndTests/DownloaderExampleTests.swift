// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// `Examples/Downloader`
@Suite(.blocking, .timeLimit(.minutes(2))) struct DownloaderExampleTests {
    private let program: Program
    /// The program beside the test bundle.
    private let downloader = Program.executable.deletingLastPathComponent().appendingPathComponent("Downloader").path

    init() throws { program = try Program() }

    @Test func fileIsDownloaded() throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK", ["ETag: \"v1\""], "hello world"))
        let outcome = try program.runScript("'\(downloader)' '\(server.url())' out")
        #expect(outcome.status == 0 && outcome.text.contains("] 100 % of 11"), "\(outcome)")
        #expect(outcome.text.hasSuffix("out: 11 bytes\n"))
        #expect(try program.contents(of: "out") == "hello world" && program.files == ["out"])
    }

    #if Persistence
        @Test func downloadGoesOnInTheBackground() throws {
            let server = try ScriptedServer(ScriptedServer.response("200 OK", ["ETag: \"v1\""], "hello world"))
            let outcome = try program.runScript(
                """
                export PATH="${portolan%/*}:$PATH"
                trap 'kill -9 "$(head -n 1 .local/state/portolan/transfers/transferd.lock)"' EXIT
                '\(downloader)' --background '\(server.url())' out && '\(downloader)' --wait && '\(downloader)' --wait
                """)
            #expect(outcome.status == 0 && outcome.text == "\(program.path)/out: finished, 11 bytes\n", "\(outcome)")
            #expect(program.contents(of: "out") == "hello world")
        }
    #endif

    /// SIGTERM and SIGKILL leave no time to save anything.
    @Test(arguments: ["INT", "TERM", "KILL"]) func interruptedDownloadIsContinued(signal: String) throws {
        let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 11\r\n\r\n"
        let server = try ScriptedServer(
            [.receiveHead, .send(text: head + "hello "), .stall],
            ScriptedServer.response("206 Partial Content", ["ETag: \"v1\"", "Content-Range: bytes 6-10/11"], "world"))
        // Python starts the program, because sh(1) makes background processes ignore SIGINT.
        let script = """
            import glob, os, signal, subprocess, sys
            process = subprocess.Popen(sys.argv[1:4], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            while not any(os.path.getsize(path) == 6 for path in glob.glob(".out.*.part")): assert process.poll() is None
            process.send_signal(signal.SIG\(signal))
            print(process.communicate()[1].decode(), end="")
            """
        try program.makeFile("interrupt.py", script)
        let first = try program.runScript("/usr/bin/python3 interrupt.py '\(downloader)' '\(server.url())' out")
        #expect(first.status == 0 && program.contents(of: "out") == nil, "\(first)")
        #expect(first.text.contains("run the command again to continue") == (signal == "INT"))
        let second = try program.runScript("'\(downloader)' '\(server.url())' out")
        #expect(second.status == 0 && second.text.hasSuffix("out: 11 bytes, 6 of them from an earlier run\n"), "\(second)")
        #expect(try program.contents(of: "out") == "hello world" && program.files == ["interrupt.py", "out"])
        #expect(server.requests.last?.contains("If-Range: \"v1\"") == true)
    }

    /// The bytes of one URL are no beginning of another.
    @Test(arguments: [true, false]) func bytesOfAnotherURLAreNotUsed(isSaved: Bool) throws {
        let server = try ScriptedServer(
            [.receiveHead, .send(text: "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 8\r\n\r\nAAAA"), .close],
            ScriptedServer.response("200 OK", ["ETag: \"b\""], "BBBB"))
        let first = try program.runScript("'\(downloader)' '\(server.url("/a"))' out; rm -f \(isSaved ? "" : "out.resume")")
        #expect(first.errors.contains { $0.hasSuffix("run the command again to continue") }, "\(first)")
        let second = try program.runScript("'\(downloader)' '\(server.url("/b"))' out")
        #expect(second.status == 0 && second.text.hasSuffix("out: 4 bytes\n"), "\(second)")
        #expect(program.contents(of: "out") == "BBBB")
        #expect(server.requests.last?.first == "GET /b HTTP/1.1" && server.requests.last?.contains { $0.hasPrefix("Range:") } == false)
    }

    @Test(.enabled(if: Program.canMount)) func downloadThatFillsTheDiskIsContinued() throws {
        let script = """
            import http.server, os, subprocess, sys, threading
            body = bytes(range(256)) * 2048
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    first = int(self.headers.get("Range", "bytes=0-")[6:-1])
                    self.send_response(206 if first else 200)
                    self.send_header("ETag", '"v1"')
                    if first: self.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
                    self.send_header("Content-Length", str(len(body) - first))
                    self.end_headers()
                    try: self.wfile.write(body[first:])
                    except OSError: pass
                def log_message(self, *arguments): pass
            server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            command = [sys.argv[1], f"http://127.0.0.1:{server.server_port}/", "disk/out"]
            def run():
                result = subprocess.run(command, capture_output=True, text=True)
                print(result.returncode, result.stdout.splitlines()[-1], result.stderr.strip())
            run()
            print(os.path.exists("disk/out"))
            subprocess.run(["mount", "-o", "remount,size=4m", "disk"], check=True)
            run()
            print(open("disk/out", "rb").read() == body)
            """
        try program.makeFile("full.py", script)
        let outcome = try program.runScript(
            "mkdir disk; unshare -m sh -c 'mount -t tmpfs -o size=300k test disk && /usr/bin/python3 full.py \(downloader)' 2>&1")
        #expect(outcome.lines.count == 4 && outcome.lines.first?.hasPrefix("1 ") == true, "\(outcome.lines)")
        #expect(outcome.text.contains("No space left on device; run the command again to continue\nFalse\n"), "\(outcome.lines)")
        #expect(outcome.text.contains("0 disk/out: 524288 bytes, ") && outcome.text.hasSuffix(" of them from an earlier run \nTrue\n"))
    }
}
