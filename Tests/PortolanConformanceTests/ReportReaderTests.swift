// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanJSON
import PortolanTestSupport
import Testing

@testable import PortolanConformance

/// Third-party programs can parse reports that contain hostile texts of a plugin.
@Suite(.timeLimit(.minutes(5))) struct ReportReaderTests {
    private static let noncharacters = [0xFFFE, 0xFFFF, 0x1FFFE, 0xFDD0].compactMap { Unicode.Scalar(UInt32($0)) }.map { String($0) }
        .joined()

    /// Texts that a plugin could put into a message, a name or a call.
    static let hostileTexts = [
        "a \"quoted\" \\ back\\slash",
        "a quote with a mark \"\u{301}, a backslash \\\u{301}, a number sign #\u{301}, <\u{338} &\u{301} >\u{338}",
        "two lines\nBail out!\nnot ok 1 - forged\n1..0", "returns\r\nok 3\rBail out!", "separators \u{85}Bail out!\u{2028}not ok\u{2029}ok",
        "\u{1B}[2J\u{1B}]0;title\u{7} \u{9B}31m \u{0} \u{7F} \u{8}", "]]> <![CDATA[ --> <script>alert(1)</script> </failure>",
        "# SKIP # TODO not at all: yes, a: b", " leading, trailing \\", "\u{FEFF}\u{202E}right to left\u{200B}",
        "\u{1F1E6}\u{200D}\u{1F468} \u{10FFFD}", "",
        "---\n  ...\n    ok 1", "'single' %n {} [x] @y `z`", noncharacters, "a:\tb", "\u{301}", ": ",
    ]

    private func summary() throws -> Summary {
        let failed = try #require(RuleCatalogue.rule("ORDER-02"))
        let skipped = try #require(RuleCatalogue.rule("DESC-01"))
        return Summary(
            Self.hostileTexts.flatMap { text -> [CheckResult] in
                var finding = Finding(.failure, text)
                finding.stack = [text]
                var result = CheckResult(failed, .failed, findings: [finding, Finding(.warning, text)], note: text)
                result.lastEvents = ["0.100 ms  thread 7  \(text)", "1e300 ms  thread 7  \(text)", "nan ms  thread \(text)  x", text]
                result.stack = [text]
                return [result, CheckResult(skipped, .skipped, note: text)]
            })
    }

    private let command = "portolan check 'a \"\u{301}b\n#'"

    /// The exit status and the output of a program whose last argument is a file with this input.
    private func output(for input: String, by program: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
        let folder = try TemporaryFolder()
        let (file, sink) = (URL(fileURLWithPath: "\(folder.path)/report"), URL(fileURLWithPath: "\(folder.path)/out"))
        try Data(input.utf8).write(to: file)
        try Data().write(to: sink)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments + [file.path]
        process.standardOutput = try FileHandle(forWritingTo: sink)
        process.standardError = process.standardOutput
        try process.run()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: try Data(contentsOf: sink), as: UTF8.self))
    }

    /// prove(1) uses the same parser, TAP::Parser.
    @Test func perlParsesTAPReport() throws {
        let text = TAPReport(repeatingBy: command, version: 13).text(of: try summary())
        let script = """
            use TAP::Parser; local $/; open my $f, '<', $ARGV[0]; my $p = TAP::Parser->new({ tap => <$f> }); my %n;
            while (my $r = $p->next) {
                $n{$r->type}++;
                if ($r->is_test) { $n{"failed"}++ unless $r->is_ok; $n{"skipped"}++ if $r->has_skip; $n{"todo"}++ if $r->has_todo }
                if ($r->is_yaml) { my $d = $r->data; $n{"whole"}++ if $d->{verdict} eq 'failed' && @{$d->{findings}} == 2 && exists $d->{note} }
            }
            print join(' ', map { "$_=$n{$_}" } sort keys %n), ' errors=', scalar($p->parse_errors), "\\n";
            """
        let (status, output) = try output(for: text, by: "/usr/bin/perl", ["-e", script])
        let count = Self.hostileTexts.count
        #expect(
            output == "failed=\(count) plan=1 skipped=\(count) test=\(2 * count) version=1 whole=\(count) yaml=\(count) errors=0\n"
                && status == 0, "\(output)")
    }

    @Test func pythonParsesJUnitReport() throws {
        let text = JUnitReport(repeatingBy: command).text(of: try summary(), target: Self.hostileTexts.joined())
        let script = """
            import sys, xml.etree.ElementTree as tree
            cases = tree.parse(sys.argv[1]).getroot().findall("testsuite/testcase")
            print(len(cases), sum(c.find("failure") is not None for c in cases), sum(c.find("skipped") is not None for c in cases))
            print(cases[-1].find("failure").text.split("\\n")[0] == ": ", any("<script>alert(1)</script>" in c.findtext("failure", "") for c in cases))
            """
        let (status, output) = try output(for: text, by: "/usr/bin/python3", ["-c", script])
        #expect(
            output == "\(2 * Self.hostileTexts.count) \(Self.hostileTexts.count) \(Self.hostileTexts.count)\nTrue True\n" && status == 0,
            "\(output)")
    }

    /// Each tag that is opened is closed, and no tag comes from a text of the plugin.
    @Test func pythonParsesHTMLReport() throws {
        let text = HTMLReport(repeatingBy: command).page(of: try summary(), target: Self.hostileTexts.joined())
        let script = """
            import sys, html.parser
            class Reader(html.parser.HTMLParser):
                stack, seen, wrong = [], set(), []
                def handle_starttag(self, tag, attributes):
                    self.seen.add(tag)
                    if tag not in ("meta", "br"): self.stack.append(tag)
                def handle_startendtag(self, tag, attributes): self.seen.add(tag)
                def handle_endtag(self, tag):
                    if not self.stack or self.stack.pop() != tag: self.wrong.append(tag)
                def handle_comment(self, data): self.wrong.append(data)
                def unknown_decl(self, data): self.wrong.append(data)
            reader = Reader()
            text = open(sys.argv[1], encoding="utf-8", newline="").read()
            reader.feed(text)
            reader.close()
            controls = [c for c in text if ord(c) < 32 and c not in "\\n\\t" or 127 <= ord(c) < 160]
            print(reader.stack, reader.wrong, "script" in reader.seen, "svg" in reader.seen, controls)
            """
        let (status, output) = try output(for: text, by: "/usr/bin/python3", ["-c", script])
        #expect(output == "[] [] False True []\n" && status == 0, "\(output)")
    }

    @Test func pythonParsesJSONReportOnOneLine() throws {
        let value = JSONReport(repeatingBy: command).value(of: try summary(), target: Self.hostileTexts.joined(), library: nil)
        let script = """
            import sys, json
            lines = open(sys.argv[1], encoding="utf-8", newline="").read().splitlines()
            results = json.loads(lines[0])["results"]
            print(len(lines), [r["note"] for r in results if r["verdict"] == "failed"] == json.loads(sys.argv[2]))
            """
        let notes = String(decoding: try JSONEncoder().encode(Self.hostileTexts), as: UTF8.self)
        let process = try output(
            for:
                String(decoding: value.bytes, as: UTF8.self), by: "/usr/bin/python3",
            ["-c", "import sys; sys.argv[1:] = sys.argv[:0:-1]\n\(script)", notes])
        #expect(process.output == "1 True\n" && process.status == 0, "\(process.output)")
    }

    /// No line of the text report contains a line break or a control sequence of a terminal.
    @Test func textReportHasNoControlSequences() throws {
        var report = TextReport(repeatingBy: command, isVerbose: true)
        for line in try summary().results.flatMap({ report.lines(for: $0) }).map(VisibleText.line) {
            #expect(
                !line.unicodeScalars.contains { $0.value < 32 || (127..<160).contains($0.value) || $0 == "\u{2028}" || $0 == "\u{202E}" })
        }
    }

    @Test(arguments: ["1e300", "-1e300", "inf", "nan", "0x1p1000", "9223372036854775807", "-0.0"])
    func invalidTimesDoNotBreakTheChart(_ time: String) {
        let figure = Timeline(["\(time) ms  thread 7  → run", "1.000 ms  thread 7  ← run"]).figure
        #expect(figure.contains("<svg ") && figure.contains(">1.000<") && !figure.contains("nan") && !figure.contains("inf"))
    }

    /// A line of the call log can name a load. The chart groups the calls by load.
    @Test func callsAreGroupedByLoad() {
        let lines = [
            "0.100 ms  thread 7  → init", "0.200 ms  thread 7  load 1  → make tide://a b", "0.300 ms  thread 8  load 2  did_load",
            "0.400 ms  thread 7  load 1  ← make", "0.500 ms  thread 7  load x  y", "0.600 ms  thread 7  load 0  y", "load 3",
        ]
        let entries = lines.compactMap(CallLogEntry.init)
        #expect(entries.map(\.load) == [nil, 1, 2, 1, nil, nil])
        #expect(entries.map(\.phrase) == ["→ init", "→ make tide://a b", "did_load", "← make", "load x  y", "load 0  y"])
        #expect(entries[1].calledFunction == "make" && entries[3].returnedFunction == "make")
        let figure = Timeline(lines).figure
        let titles = figure.components(separatedBy: #"scope="rowgroup">"#).dropFirst().map { $0.prefix { $0 != "<" } }
        #expect(titles == ["No load", "Load 1", "Load 2"])
        #expect(figure.contains("The last 6 calls between") && figure.contains(">Load 2, thread 8<"))
    }
}
