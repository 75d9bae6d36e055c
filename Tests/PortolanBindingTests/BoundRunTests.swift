// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanBinding

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Runs of steps without a loader.
@Suite struct BoundRunTests {
    private final class Host: RunHost {
        let request: Request
        let settings: [String: PropertyValue] = [:]
        let libraryName = "libc"
        let delivered = ConditionLock<[UInt8]>([])

        init() throws { request = try Request("bound:x") }

        var mayCall: Bool { true }
        func enterCall() -> Bool { true }
        func leaveCall() {}
        func respond(_ response: Response) -> Bool { true }
        func deliver(_ bytes: UnsafeRawBufferPointer) -> Bool {
            delivered.withLock { unsafe $0 += Array(bytes) }
            return true
        }
        func readBody(_ room: UnsafeMutableRawBufferPointer) throws(RunEnd) -> Int { 0 }
    }

    /// Runs steps that call a function of the C library.
    private func run(_ name: String, _ signature: String, _ steps: [StepSource]) throws -> (BoundRun, Host) {
        var source = BindingSource()
        source.functions = [Named(name, signature)]
        source.steps = steps
        let linked = try unsafe LinkedProgram(BindingProgram(checking: source, settings: [])) { unsafe dlsym(nil, $0) }
        let host = try Host()
        let run = BoundRun(linked, host: host, pool: CallbackPool(linked) { _ in })
        try run.run(linked.steps)
        return (run, host)
    }

    /// Memory that the library borrows stays until the load has ended. Memory that goes to the reader does not stay,
    /// whatever its size.
    @Test func deliveredBytesAreNotRetained() throws {
        var step = StepSource(.call(CallSource("strerror", [.number("2")])))
        step.result = "words"
        step.deliver = "{words}"
        let (run, host) = try run("strerror", "cstring (int)", [step])
        #expect(String(decoding: host.delivered.withLock { $0 }, as: UTF8.self) == "No such file or directory")
        #expect(run.arena.blocks.isEmpty)
    }

    /// The implementation depends on the processor, or comes from the kernel.
    @Test(arguments: ["memcpy", "strlen", "time", "gettimeofday", "getenv"])
    func indirectFunctionIsAcceptedAsAFunction(_ name: String) throws {
        var source = BindingSource()
        source.functions = [Named(name, "void ()")]
        source.steps = [StepSource(.call(CallSource(name, [])))]
        _ = try unsafe LinkedProgram(BindingProgram(checking: source, settings: [])) { unsafe dlsym(nil, $0) }
    }
}
