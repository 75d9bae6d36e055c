// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanBinding

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Runs the steps of bindings without a loader.
@Suite struct BindingExecutionTests {
    private final class Context: ExecutionContext {
        let request: Request
        let settings: [String: PropertyValue] = [:]
        let libraryName = "libc"
        let deliveredBytes = ConditionLock<[UInt8]>([])

        init() throws { request = try Request("bound:x") }

        var mayContinue: Bool { true }
        func beginCall() -> Bool { true }
        func endCall() {}
        func respond(_ response: Response) -> Bool { true }
        func deliver(_ bytes: UnsafeRawBufferPointer) -> Bool {
            deliveredBytes.withLock { unsafe $0 += Array(bytes) }
            return true
        }
        func readBody(into buffer: UnsafeMutableRawBufferPointer) throws(ExecutionEnd) -> Int { 0 }
    }

    /// Runs steps that call a function of the C library.
    private func run(_ name: String, _ signature: String, _ steps: [StepSource]) throws -> (BindingExecution, Context) {
        var source = BindingSource()
        source.functions = [Named(name, signature)]
        source.steps = steps
        let linked = try unsafe LinkedProgram(BindingProgram(checking: source, settings: [])) { unsafe dlsym(nil, $0) }
        let context = try Context()
        let execution = BindingExecution(linked, context: context, callbackPool: CallbackPool(linked) { _ in })
        try execution.run(linked.steps)
        return (execution, context)
    }

    /// The arena retains memory for the library until the load ends. It must not retain delivered bytes.
    @Test func deliveredBytesAreNotRetained() throws {
        var step = StepSource(.call(CallSource("strerror", [.number("2")])))
        step.result = "words"
        step.deliver = "{words}"
        let (execution, context) = try run("strerror", "cstring (int)", [step])
        #expect(String(decoding: context.deliveredBytes.withLock { $0 }, as: UTF8.self) == "No such file or directory")
        #expect(execution.arena.blocks.isEmpty)
    }

    /// The symbols of some of these functions are indirect: the linker chooses the implementation, by the processor or
    /// from the kernel.
    @Test(arguments: ["memcpy", "strlen", "time", "gettimeofday", "getenv"])
    func indirectFunctionIsAcceptedAsAFunction(_ name: String) throws {
        var source = BindingSource()
        source.functions = [Named(name, "void ()")]
        source.steps = [StepSource(.call(CallSource(name, [])))]
        _ = try unsafe LinkedProgram(BindingProgram(checking: source, settings: [])) { unsafe dlsym(nil, $0) }
    }
}
