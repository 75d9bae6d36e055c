// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// `get --cache`, `stdio --cache` and `portolan cache`.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetCacheTests {
    private let program: Program

    init() throws { program = try Program() }

    private func server(_ fields: String..., body: String = "hello") throws -> ScriptedServer {
        try ScriptedServer(ScriptedServer.response("200 OK", fields, body))
    }

    /// The lines of `-v` about the cache.
    private func cacheLines(_ outcome: Program.Outcome) -> [String] {
        outcome.errors.filter { $0.hasPrefix("* cache: ") }.map { String($0.dropFirst(9)) }
    }

    private func members(_ arguments: String...) throws -> [String: Any] {
        let outcome = try program.run(arguments)
        #expect(outcome.status == 0, "\(outcome.errors)")
        return try #require(JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
    }

    // MARK: get

    /// `--cache` takes no value from the next argument.
    @Test(arguments: [["--cache"], ["--cache="], ["--cache=store"]])
    func secondRunSaysWhereTheResponseCameFromAndWhyItMay(option: [String]) throws {
        let server = try server("Cache-Control: max-age=1000", "ETag: \"a\"")
        let first = try program.run(["get"] + option + ["-v", server.url()])
        #expect(first.status == 0 && first.text == "hello", "\(first.errors)")
        #expect(cacheLines(first) == ["miss: no response is stored for the URL; the response is being stored"], "\(first.errors)")
        let second = try program.run(["get", "-v"] + option + [server.url()])
        #expect(second.status == 0 && second.text == "hello", "\(second.errors)")
        let line = try #require(cacheLines(second).first)
        #expect(
            line.contains(
                /^hit: the stored response is fresh \(RFC 9111 §4\.2\); its age is \d+ s, and it is fresh for 16 min( \d+ s)? more$/),
            "\(line)")
        #expect(second.errors.contains("< etag: \"a\"") && server.connections.count == 1)
        #expect(program.contents(of: option == ["--cache=store"] ? "store/index.sqlite" : ".cache/portolan/index.sqlite") != nil)
    }

    @Test func environmentNamesTheFolder() throws {
        let server = try server("Cache-Control: max-age=1000")
        let outcome = try program.run("get", "--cache", server.url(), with: ["XDG_CACHE_HOME": program.folder.path + "/xdg"])
        #expect(outcome.status == 0 && program.contents(of: "xdg/portolan/index.sqlite") != nil, "\(outcome.errors)")
    }

    @Test(arguments: [[], ["--state", "state"]]) func getWithoutTheOptionStoresNothing(options: [String]) throws {
        let server = try server("Cache-Control: max-age=1000")
        for _ in 0..<2 {
            let outcome = try program.run(["get", "-v"] + options + [server.url()])
            #expect(outcome.status == 0 && cacheLines(outcome).isEmpty)
        }
        #expect(server.connections.count == 2)
        #expect(try program.files == options.suffix(1))
    }

    @Test func staleResponseIsValidated() throws {
        let server = try ScriptedServer(
            ScriptedServer.response("200 OK", ["Cache-Control: max-age=0", "ETag: \"a\""], "hello"),
            ScriptedServer.response("304 Not Modified", ["Cache-Control: max-age=0", "ETag: \"a\""]))
        _ = try program.run("get", "--cache", server.url())
        let second = try program.run("get", "--cache", "-v", server.url())
        #expect(second.text == "hello" && second.status == 0)
        #expect(
            cacheLines(second) == ["validated: the stored response is stale (RFC 9111 §4.2), and the server has confirmed it"],
            "\(second.errors)")
        #expect(server.requests.last?.contains("If-None-Match: \"a\"") == true, "\(server.requests)")
        // A program gets the same as JSON, before the head.
        let json = try program.run("get", "--cache", "--events", server.url())
        let names = json.lines.compactMap { $0.firstMatch(of: /"event":"(\w+)"/)?.1 }
        let index = try #require(names.firstIndex(of: "cache"))
        #expect(names[index + 1] == "response")
        #expect(
            json.lines[index].hasSuffix(
                #""result":"validated","reason":"stale","message":"the stored response is stale (RFC 9111 §4.2)","age":null,"#
                    + #""freshFor":null,"stored":null,"refusal":null}"#), "\(json.lines[index])")
    }

    @Test(arguments: [
        (["Cache-Control: no-store"], "the response has 'no-store' (RFC 9111 §5.2.2.5)"),
        (["Cache-Control: max-age=9", "Vary: *"], "no request matches its 'Vary' (RFC 9111 §4.1)"),
        ([], "it is never fresh and has no validator"),
    ])
    func reasonNotToStoreIsNamed(fields: [String], reason: String) throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK", fields, "hello"))
        let outcome = try program.run("get", "--cache", "-v", server.url())
        #expect(
            cacheLines(outcome) == ["miss: no response is stored for the URL; the response is not stored: \(reason)"], "\(outcome.errors)")
        #expect(try members("cache", "info", "--json")["entries"] as? Int == 0)
    }

    @Test func modesAreThoseOfFetch() throws {
        let server = try server("Cache-Control: max-age=1000", "ETag: \"a\"")
        let missing = try program.run("get", "--cache", "--cache-mode", "only-if-cached", server.url())
        #expect(missing.status == 105 && server.connections.isEmpty, "\(missing.errors)")
        #expect(try program.run("get", "--cache", server.url()).status == 0)
        let present = try program.run("get", "--cache", "--cache-mode", "only-if-cached", "-v", server.url())
        #expect(present.status == 0 && present.text == "hello" && server.connections.count == 1, "\(present.errors)")
        let reloaded = try program.run("get", "--cache", "--cache-mode=reload", "-v", server.url())
        #expect(reloaded.status == 0 && server.connections.count == 2)
        #expect(cacheLines(reloaded) == ["miss: the cache policy of the request says so; the response is being stored"])
        for arguments in [["--cache-mode", "reload"], ["--cache", "--cache-mode", "sometimes"]] {
            let refusal = try program.run(["get"] + arguments + [server.url()])
            #expect(refusal.status == 2 && refusal.errors.count == 1, "\(refusal.errors)")
        }
    }

    @Test func archiveMarksResponsesOfTheCache() throws {
        let server = try server("Cache-Control: max-age=1000")
        for file in ["first.har", "second.har"] { _ = try program.run("get", "--cache", "--trace", file, server.url()) }
        #expect(program.contents(of: "first.har")?.contains("_fromCache") == false)
        #expect(program.contents(of: "second.har")?.contains(#""_fromCache":"disk""#) == true)
    }

    /// HTTP Archive 1.2, "cache"
    @Test func archiveSaysWhatTheCacheHad() throws {
        let server = try server("Cache-Control: max-age=1000", "ETag: \"a\"")
        func cache(_ options: String...) throws -> [String: Any] {
            #expect(try program.run(["get", "--trace", "trace.har"] + options + [server.url()]).status == 0)
            let contents = try #require(program.contents(of: "trace.har"))
            let archive = try #require(JSONSerialization.jsonObject(with: Data(contents.utf8)) as? [String: [String: Any]])
            let entry = try #require((archive["log"]?["entries"] as? [[String: Any]])?.first)
            return try #require(entry["cache"] as? [String: Any])
        }
        #expect(try cache().isEmpty)
        let first = try cache("--cache")
        #expect(
            first["beforeRequest"] is NSNull
                && first["comment"] as? String == "miss: no response is stored for the URL; the response is being stored")
        // Whether the response is stored is known only at its end.
        #expect(first["afterRequest"] == nil)
        for count in 0..<2 {
            let hit = try cache("--cache")
            let (before, after) = (
                try #require(hit["beforeRequest"] as? [String: Any]), try #require(hit["afterRequest"] as? [String: Any])
            )
            #expect(after["eTag"] as? String == "\"a\"")
            #expect(before["hitCount"] as? Int == count && after["hitCount"] as? Int == count + 1, "\(hit)")
            let times = try [before, after].map { try #require($0["lastAccess"] as? String) }
            #expect(times[0] < times[1] && times[1] < (after["expires"] as? String ?? ""), "\(hit)")
            #expect((hit["comment"] as? String)?.hasPrefix("hit: the stored response is fresh") == true)
        }
        let unstored = try cache("--cache", "--cache-mode", "no-store")
        #expect(Array(unstored.keys) == ["comment"], "\(unstored)")
        let archive = program.contents(of: "trace.har")
        #expect(try program.run("get", "--replay", "trace.har", server.url()).text == "hello", "\(archive ?? "")")
    }

    @Test func folderThatCannotBeUsedIsReported() throws {
        try program.makeFile("store", "a file")
        for arguments in [["get", "--cache=store", "data:,x"], ["stdio", "--cache=store"], ["cache", "list", "--cache=store"]] {
            let outcome = try program.run(arguments)
            #expect(outcome.status == 37 && outcome.errors.first?.hasPrefix("portolan: --cache: ") == true, "\(outcome.errors)")
        }
        let server = try server("Cache-Control: max-age=1000")
        #expect(try program.run("get", "--cache=other", server.url()).status == 0)
        let refusal = try program.run("get", "--cache=other", "-o", "other/index.sqlite", "data:,x")
        #expect(refusal.status == 2 && refusal.errors.first?.contains("is in the cache") == true, "\(refusal.errors)")
    }

    /// For `get`, the next argument is a URL.
    @Test(arguments: [["stdio", "--cache", "store"], ["cache", "list", "--cache", "store"]])
    func folderInTheNextArgumentIsExplained(arguments: [String]) throws {
        let outcome = try program.run(arguments)
        #expect(outcome.status == 2 && outcome.errors.count == 1, "\(outcome.errors)")
        #expect(outcome.errors.first?.contains("write '--cache=store'") == true, "\(outcome.errors)")
        #expect(try program.files == [])
    }

    @Test func valueOfAnotherOptionIsNoCache() throws {
        let outcome = try program.run("get", "-o", "--cache", "data:,x")
        #expect(outcome.status == 0 && program.contents(of: "--cache") == "x", "\(outcome.errors)")
        #expect(try program.files == ["--cache"])
    }

    /// A second signal is not needed: the program ends, and says that the response is lost.
    @Test func signalWhileAnotherProcessHoldsTheLockIsReported() throws {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=1000\r\nETag: \"a\"\r\nContent-Length: 10\r\n\r\nhello"
        let server = try ScriptedServer([.receiveHead, .send(text: head), .stall])
        let outcome = try program.runScript(
            """
            mkfifo fifo
            "$portolan" get -v --cache=store '\(server.url())' >body 2>errors & load=$!
            until grep -q hello body; do :; done
            timeout 60 python3 -c '
            import sqlite3, sys
            database = sqlite3.connect("store/index.sqlite", isolation_level=None)
            database.execute("BEGIN IMMEDIATE")
            print("locked", flush=True)
            sys.stdin.read()' <fifo >lock & exec 3>fifo
            until grep -q locked lock; do :; done
            kill -TERM $load; wait $load; status=$?; exec 3>&-; cat errors >&2; exit $status
            """)
        #expect(outcome.status == 143, "\(outcome)")
        #expect(
            outcome.errors.contains("portolan: the responses for the cache that have arrived could not be written within 1 s"),
            "\(outcome.errors)")
    }

    // MARK: Disks that are full, or read-only

    /// Runs commands with a file system of their own at `disk`.
    private func run(on mount: String, _ script: String) throws -> Program.Outcome {
        try program.runScript(
            """
            mkdir -p disk
            portolan="$portolan" unshare -m sh -c '\(mount) && {
            \(script)
            }'
            """)
    }

    @Test(.enabled(if: Program.canMount), arguments: [4, 16, 40]) func diskWithoutRoomForTheIndexIsAWarning(kibibytes: Int) throws {
        let server = try server("Cache-Control: max-age=1000")
        let outcome = try run(on: "mount -t tmpfs -o size=\(kibibytes)k test disk", "$portolan get --cache=disk/c -v \(server.url())")
        #expect(outcome.status == 0 && outcome.text == "hello", "\(outcome.errors)")
        let warnings = outcome.errors.filter { $0.hasPrefix("portolan: ") }
        #expect(warnings.count == 1 && warnings.first?.contains("free some space; until then") == true, "\(warnings)")
        #expect(
            cacheLines(outcome) == ["miss: no response is stored for the URL; the response is not stored: the cache has no room for it"],
            "\(outcome.errors)")
    }

    /// The commands read a full disk, and make room on it.
    @Test(.enabled(if: Program.canMount)) func cacheOnAFullDiskIsListedAndCleared() throws {
        let server = try server("Cache-Control: max-age=1000", body: String(repeating: "x", count: 300_000))
        let outcome = try run(
            on: "mount -t tmpfs -o size=2m test disk",
            """
            $portolan get --cache=disk/c \(server.url()) >/dev/null
            cat /dev/zero >disk/fill 2>/dev/null
            for command in info "show \(server.url())" verify "clear \(server.url())" clear info; do
                $portolan cache $command --cache=disk/c >out; echo "$command: $?"; grep responses: out
            done
            ls disk/c/bodies | wc -l
            $portolan get --cache=disk/c data:,x
            """)
        #expect(
            outcome.lines == [
                "info: 0", "responses: 1", "show \(server.url()): 0", "verify: 0", "clear \(server.url()): 23", "clear: 0", "info: 0",
                "responses: 0", "0", "x",
            ], "\(outcome)")
        #expect(outcome.errors.count == 1, "\(outcome.errors)")
    }

    /// A process that was killed has left a log, whose index may be missing.
    @Test(.enabled(if: Program.canMount), arguments: [true, false]) func cacheOfAKilledProcessIsReadOnAReadOnlyDisk(hasIndexOfLog: Bool)
        throws
    {
        let server = try server("Cache-Control: max-age=1000")
        let killed = try program.runScript(
            """
            mkfifo in
            $portolan stdio --cache=disk <in >out & exec 3>in
            echo '{"id":1,"url":"\(server.url())"}' >&3
            until $portolan cache list --cache=disk 2>/dev/null | grep -q 127.0.0.1; do :; done
            kill -9 $!
            \(hasIndexOfLog ? ":" : "rm disk/index.sqlite-shm")
            test -s disk/index.sqlite-wal
            """)
        #expect(killed.status == 0, "\(killed)")
        let outcome = try run(
            on: "mount --bind disk disk && mount -o remount,ro,bind disk",
            """
            for command in info list "show \(server.url())" verify "verify --remove" clear; do
                $portolan cache $command --cache=disk; echo "$command: $?"
            done
            $portolan get --cache=disk data:,; echo "get: $?"
            TMPDIR=/proc $portolan cache list --cache=disk >/dev/null; echo "without copy: $?"
            """)
        #expect(
            outcome.lines.filter { $0.contains(/^[^<*].*: \d+$/) } == [
                "responses: 1", "info: 0", "list: 0", "show \(server.url()): 0", "verify: 0", "verify --remove: 23", "clear: 23", "get: 23",
                "without copy: \(hasIndexOfLog ? 0 : 37)",
            ], "\(outcome)")
        #expect(outcome.lines.contains("1 response intact, 0 damaged") && outcome.lines.contains("< 200 OK"))
        #expect(
            outcome.errors.prefix(3).allSatisfy { $0.contains("is read-only; choose a folder that can be written") }, "\(outcome.errors)")
        #expect(outcome.errors.dropFirst(3).allSatisfy { $0.contains("set TMPDIR") } && outcome.errors.count == (hasIndexOfLog ? 3 : 4))
    }

    // MARK: stdio

    @Test func stdioKeepsResponses() throws {
        let server = try server("Cache-Control: max-age=1000")
        let line = #"{"id":1,"url":"\#(server.url())"}"# + "\n"
        for source in ["network", "cache"] {
            let outcome = try program.run(["stdio", "--cache=store"], input: line)
            #expect(outcome.text.contains(#""source":"\#(source)""#), "\(outcome.text) \(outcome.errors)")
        }
        let reset = try program.run(["stdio", "--cache=store"], input: #"{"id":2,"op":"reset","what":["cache"]}"# + "\n")
        #expect(reset.lines == [#"{"id":2,"reset":["cache"]}"#])
        #expect(try members("cache", "info", "--json", "--cache=store")["entries"] as? Int == 0)
        // Without the option, the cache is in memory, also with a state folder.
        _ = try program.run(["stdio", "--state", "state"], input: line)
        #expect(server.connections.count == 2)
        _ = try program.run(["stdio", "--state", "state"], input: line)
        #expect(server.connections.count == 3)
    }

    // MARK: cache

    @Test func responsesAreListedShownAndCleared() throws {
        let server = try server("Cache-Control: max-age=1000", "Vary: Accept-Language", "Set-Cookie: sid=s3cr3t", "X-Hostile: a\u{9B}31m")
        let plain = try ScriptedServer(ScriptedServer.response("404 Not Found", ["Cache-Control: max-age=0", "ETag: \"a\""], "gone"))
        let secretURL = server.url("/a").replacingOccurrences(of: "http://", with: "http://user:secret@")
        #expect(try program.run("get", "--cache", "-H", "Accept-Language: de", secretURL).status == 0)
        #expect(try program.run("get", "--cache", plain.url("/b")).status == 0)

        let info = try program.run("cache", "info")
        #expect(info.lines.prefix(2) == ["folder:    \(program.folder.path)/.cache/portolan", "responses: 2"], "\(info)")
        #expect(info.lines.last?.contains(/^size:      [\d.]+ (B|KiB) of 256\.0 MiB$/) == true, "\(info.lines)")
        let list = try program.run("cache", "list")
        #expect(list.lines.count == 3 && list.lines.last?.hasPrefix("2 responses, ") == true, "\(list.lines)")
        let line = try #require(list.lines.first { $0.hasPrefix("200  ") })
        #expect(line.contains(/^200  5 B  stored \d+ s ago  fresh for 16 min( \d+ s)?  not used  http:/), "\(line)")
        #expect(line.hasSuffix("  \(server.url("/a"))"))
        let staleLine = try #require(list.lines.first { $0.hasPrefix("404  ") })
        #expect(staleLine.contains(#/  stale for \d+ s  /#), "\(staleLine)")

        let show = try program.run("cache", "show", server.url("/a#fragment"))
        #expect(show.lines.starts(with: ["* \(server.url("/a"))", "< 200 OK"]), "\(show)")
        for expected in [
            "< cache-control: max-age=1000", "< set-cookie: sid=…", "< x-hostile: aÂ\\u{9b}31m", "* body: 5 bytes",
            "* lifetime: 1000 s (max-age of Cache-Control)",
            "* the response is used without asking the server: the stored response is fresh (RFC 9111 §4.2)",
            "* only for requests with accept-language: de",
        ] { #expect(show.lines.contains(expected), "\(expected) in \(show.lines)") }
        #expect(!show.text.contains("secret") && show.lines.contains { $0.hasPrefix("* until: 20") })
        let staleShow = try program.run("cache", "show", plain.url("/b"))
        #expect(
            staleShow.lines.contains("* the response is used if the server confirms it: the stored response is stale (RFC 9111 §4.2)"),
            "\(staleShow.lines)")
        let details = try #require(try members("cache", "show", "--json", server.url("/a"))["responses"] as? [[String: Any]])
        #expect(details.first?["use"] as? String == "use" && details.first?["vary"] as? [[String]] == [["accept-language", "de"]])
        let missing = try program.run("cache", "show", server.url("/c"))
        #expect(
            missing.status == 37 && missing.errors == ["portolan: no response is stored for '\(server.url("/c"))'"], "\(missing.errors)")

        func count() throws -> Int? { try (members("cache", "list", "--json")["responses"] as? [Any])?.count }
        #expect(try program.run("cache", "clear", "--older-than", "1000").status == 0 && count() == 2)
        let negative = try program.run("cache", "clear", "--older-than", "-1")
        #expect(
            negative.status == 2 && negative.errors.first?.contains("write a number of seconds, 0 or more") == true, "\(negative.errors)")
        #expect(try count() == 2)
        #expect(try program.run("cache", "clear", server.url("/a")).status == 0 && count() == 1)
        #expect(try program.run("cache", "clear").status == 0 && count() == 0)
    }

    @Test func damageIsFoundAndRemoved() throws {
        let body = String(repeating: "x", count: 1 << 17)
        let server = try server("Cache-Control: max-age=1000", body: body)
        #expect(try program.run("get", "--cache=store", server.url()).status == 0)
        let intact = try program.run("cache", "verify", "--cache=store")
        #expect(intact.status == 0 && intact.lines == ["1 response intact, 0 damaged"], "\(intact)")
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: program.folder.path + "/store/bodies").first)
        try program.makeFile("store/bodies/\(name)", String(repeating: "y", count: 1 << 17))
        let damaged = try program.run("cache", "verify", "--cache=store")
        #expect(damaged.status == 37 && damaged.lines.last == "0 responses intact, 1 damaged", "\(damaged)")
        #expect(damaged.lines.first?.hasPrefix("damaged: \(server.url()): ") == true)
        let removing = try program.run("cache", "verify", "--remove", "--cache=store")
        #expect(removing.status == 37 && removing.lines.first?.hasPrefix("removed: \(server.url()): ") == true, "\(removing)")
        #expect(
            removing.errors.first?.hasSuffix("store' had 1 damaged response; removed") == true
                && removing.lines.last == "0 responses intact, 1 removed", "\(removing.errors)")
        let verification = try members("cache", "verify", "--json", "--cache=store")
        #expect(verification["intact"] as? Int == 0 && (verification["damaged"] as? [Any])?.isEmpty == true, "\(verification)")
    }

    @Test func damagedBytesAreNotDelivered() throws {
        let body = String(repeating: "x", count: 1 << 17)
        let server = try server("Cache-Control: max-age=1000", body: body)
        #expect(try program.run("get", "--cache=store", server.url()).status == 0)
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: program.folder.path + "/store/bodies").first)
        try program.makeFile("store/bodies/\(name)", String(repeating: "y", count: 1 << 17))
        #expect(try !program.run("get", "--cache=store", server.url()).text.contains("y"))
        let reloaded = try program.run("get", "--cache=store", server.url())
        #expect(reloaded.status == 0 && reloaded.text == body && server.connections.count == 2, "\(reloaded.errors)")
    }

    /// A mistyped name makes no folder.
    @Test(arguments: [["info"], ["list"], ["show", "http://h/"], ["clear"], ["verify"]])
    func folderThatDoesNotExistIsNotCreated(command: [String]) throws {
        let missing = try program.run(["cache"] + command + ["--cache=typo"])
        #expect(missing.status == 37 && missing.errors.first?.hasSuffix("typo' does not exist") == true, "\(missing.errors)")
        try program.makeFile("documents/letter")
        let other = try program.run(["cache"] + command + ["--cache=documents"])
        #expect(other.status == 37 && other.errors.first?.contains("is not a cache") == true, "\(other.errors)")
        #expect(try program.run(["cache"] + command).status == 37)
        #expect(try program.files == ["documents"])
    }
}
