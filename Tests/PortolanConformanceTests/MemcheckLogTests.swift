// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanConformance

/// Parsing of Valgrind's XML output, and the attribution of its errors to the plugin.
@Suite struct MemcheckLogTests {
    private static let plugin = "/opt/tide/libtide.so"
    private static let program = "/memfd:portolan (deleted)"

    private static func frame(_ object: String, _ function: String, _ otherElements: String = "") -> String {
        "<frame>\n<ip>0x48417B4</ip>\n<obj>\(object)</obj>\n<fn>\(function)</fn>\n\(otherElements)</frame>\n"
    }

    private static let valgrindFree = frame("/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so", "free")
    private static let pluginFrame = frame(plugin, "hold&lt;int&gt;", "<dir>/src</dir><file>tide.c</file><line>42</line>")
    private static let runnerFrame = frame(program, "run")

    private static func document(_ errors: String...) -> String {
        """
        <?xml version="1.0"?>

        <valgrindoutput>
        <protocolversion>4</protocolversion>
        <preamble><line>Memcheck &amp; more</line></preamble>
        \(errors.map { "<error>\n<unique>0x1</unique>\n<tid>1</tid>\n\($0)</error>\n" }.joined())
        <errorcounts><pair><count>1</count></pair></errorcounts>
        </valgrindoutput>

        """
    }

    private static let invalidReadError = """
        <kind>InvalidRead</kind>
        <what>Invalid read of size 4</what>
        <stack>\(pluginFrame)\(runnerFrame)</stack>
        <auxwhat>Address 0x4a41120 is 0 bytes inside a block of size 16 free'd</auxwhat>
        <stack>\(valgrindFree)\(pluginFrame)\(runnerFrame)</stack>
        """
    private static let leakError = """
        <kind>Leak_DefinitelyLost</kind>
        <xwhat><text>24 bytes in 1 blocks are definitely lost in loss record 19 of 24</text><leakedbytes>24</leakedbytes></xwhat>
        <stack>\(valgrindFree)\(pluginFrame)</stack>
        """
    private static let syscallError = """
        <kind>SyscallParam</kind>
        <what>Syscall param write(buf) points to unaddressable byte(s)</what>
        <stack>\(pluginFrame)</stack>
        <auxwhat>Address 0x5 is not stack'd, malloc'd or (recently) free'd</auxwhat>
        """

    private let scope = MemcheckScope(shared: ["/lib/libz.so.1"])

    private func error(_ text: String) throws -> MemcheckError {
        try #require(MemcheckLog(parsing: Array(Self.document(text).utf8)).errors.first)
    }

    @Test func errorHasKindPhraseStackAndOrigins() throws {
        let error = try error(Self.invalidReadError)
        #expect(error.kind == "InvalidRead" && error.phrase == "Invalid read of size 4" && error.rule == "MEM-01")
        #expect(error.stack.map(\.phrase) == ["hold<int> (tide.c:42)", "run (in memfd:portolan (deleted))"])
        #expect(error.origins.map(\.phrase) == ["Address is 0 bytes inside a block of size 16 free'd"])
        #expect(error.origins.first?.stack.count == 3)
    }

    @Test func recordNumberOfALeakIsRemoved() throws {
        let error = try error(Self.leakError)
        #expect(error.phrase == "24 bytes in 1 blocks are definitely lost" && error.rule == "MEM-04" && error.isLeak)
    }

    @Test func textWithoutAStackIsKept() throws {
        let error = try error(Self.syscallError)
        #expect(error.origins == [.init(phrase: "Address is not stack'd, malloc'd or (recently) free'd", stack: [])])
        #expect(error.rule == "MEM-01")
    }

    @Test(arguments: [
        ("UninitCondition", "", "MEM-02"), ("UninitValue", "", "MEM-02"), ("InvalidFree", "", "MEM-03"), ("MismatchedFree", "", "MEM-03"),
        ("SyscallParam", "points to uninitialised byte(s)", "MEM-02"), ("Overlap", "", "MEM-01"), ("Leak_StillReachable", "", nil),
        ("Unknown", "", nil),
    ])
    func eachErrorKindMapsToARule(kind: String, phrase: String, rule: String?) {
        #expect(MemcheckError(kind: kind, phrase: phrase, stack: [], origins: []).rule == rule)
    }

    /// A truncated log has the errors that are complete in it, and reports that it is truncated.
    @Test func truncatedLogIsParsedAsFarAsPossible() {
        let bytes = Array(Self.document(Self.invalidReadError, Self.leakError, Self.syscallError).utf8)
        let completeLog = MemcheckLog(parsing: bytes)
        #expect(completeLog.errors.count == 3 && completeLog.isWhole)
        var count = 0
        for length in bytes.indices {
            let log = MemcheckLog(parsing: Array(bytes[..<length]))
            #expect(log.errors == Array(completeLog.errors.prefix(log.errors.count)) && log.errors.count >= count)
            count = log.errors.count
            // The line break after the root element is not part of the document.
            #expect(log.isWhole == (length >= bytes.count - 1), "\(length)")
        }
    }

    @Test(arguments: [
        "", "<", "<a", "<a>", "<a><b></a>", "<a><b></c></a>", "<a><\u{0}></a>", "no XML", "<a><b>&#x110000;&bogus;&",
        "<a>" + String(repeating: "<b>", count: 20) + String(repeating: "</b>", count: 20) + "</a>",
        "<a><b>" + String(repeating: "<c/>", count: 1000) + "</b></a>",
        "<a><" + String(repeating: "n", count: 1000) + "></a>",
    ])
    func otherTextHasNoErrors(text: String) {
        let log = MemcheckLog(parsing: Array(text.utf8))
        #expect(log.errors.isEmpty && !log.isWhole)
    }

    @Test func entitiesAreDecoded() {
        var reader = XMLReader(Array("<r><a> x &lt;&amp;&#65;&#x42;&nope; y </a><b/></r>".utf8))
        #expect(reader.next()?.text == "x <&AB&nope; y" && reader.next()?.name == "b" && reader.next() == nil && reader.isWhole)
    }

    // MARK: Attribution of errors

    private func frames(_ objects: String?...) -> [StackFrame] {
        objects.map { StackFrame(object: $0, function: "f", file: nil, line: nil) }
    }

    private func attribution(
        _ stack: [StackFrame], _ origin: [StackFrame]? = nil, kind: String = "InvalidRead"
    ) -> MemcheckScope.Attribution? {
        let origins = origin.map { [MemcheckError.Origin(phrase: "", stack: $0)] } ?? []
        return scope.attribution(of: MemcheckError(kind: kind, phrase: "", stack: stack, origins: origins))
    }

    @Test func innermostFunctionOutsideSystemLibrariesDecidesTheOwner() {
        let (plugin, program, library, swift) = (Self.plugin, Self.program, "/lib/libc.so.6", "/opt/swift/libswiftCore.so")
        #expect(attribution(frames(plugin, program)) == .inPluginCode)
        #expect(attribution(frames(library, "/lib/libz.so.1", nil, plugin, program)) == .inPluginCode)
        #expect(attribution(frames("/opt/tide/libbrought.so", program)) == .inPluginCode)
        #expect(attribution(frames(program, plugin, program)) == nil)
        #expect(attribution(frames(library, swift, plugin, program)) == nil)
        #expect(attribution(frames(library)) == nil)
        #expect(attribution(frames("/lib64/ld-linux-x86-64.so.2", plugin)) == nil)
    }

    /// If the runner accesses a freed block that it borrowed from the plugin, the error is the plugin's. A leak of a
    /// block that the runner allocated is the runner's.
    @Test func invalidAccessToABorrowedBlockIsThePluginsError() {
        let (runnerStack, pluginStack) = (frames("/lib/libc.so.6", Self.program, Self.plugin), frames("/lib/libc.so.6", Self.plugin))
        #expect(attribution(runnerStack, pluginStack) == .inPassedBlock)
        #expect(attribution(runnerStack, frames(Self.program, Self.plugin)) == nil)
        #expect(attribution(runnerStack, pluginStack, kind: "Leak_DefinitelyLost") == nil)
    }

    @Test func stackEndsWhereTheRunnerCalledThePlugin() {
        let stack = frames("/lib/libc.so.6", Self.program, Self.program, Self.plugin, Self.program, "/lib/libc.so.6")
        #expect(scope.lines(of: stack) == ["f (in libc.so.6)", "the conformance runner", "f (in libtide.so)"])
    }
}
