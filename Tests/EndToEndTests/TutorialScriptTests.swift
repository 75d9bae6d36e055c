// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// scripts/tutorials.py runs the commands of a page, and compares their output and exit statuses.
@Suite(.blocking) struct TutorialScriptTests {
    private let program: Program

    init() throws { program = try Program() }

    @Test(
        arguments: [
            ("$ portolan get data:,a\na", nil), ("$ false", "`false` ended with status 1 instead of 0"),
            ("$ portolan get nosuch:x\n…\n$ echo $?\n1", nil), ("$ sh -c 'exit 3'\n$ echo $?\n4", "ended with status 3 instead of 4"),
            ("$ true\n$ echo $?\n1", "`true` ended with status 0 instead of 1"), ("$ portolan get data:,a\nb", "printed\na\ninstead of\nb"),
        ] as [(String, String?)])
    func scriptChecksOutputAndExitStatuses(console: String, problem: String?) throws {
        let page = try program.makeFile("page.md", "Text\n\n```console\n\(console)\n```\n").deletingPathExtension().path
        let outcome = try program.run(
            URL(fileURLWithPath: "/usr/bin/python3"), ["\(Repository.root.path)/scripts/tutorials.py", "portolan", "run", page],
            input: Data(),
            with: ["PORTOLAN": Program.executable.path])
        #expect(outcome.status == (problem == nil ? 0 : 1), "\(outcome.errors)")
        if let problem { #expect(outcome.errors.joined(separator: "\n").contains(problem), "\(outcome.errors)") }
    }
}
