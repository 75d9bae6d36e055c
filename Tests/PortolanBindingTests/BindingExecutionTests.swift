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
        source.functions = [NamedValue(name, signature)]
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

    /// The texts of a repetition are freed with it.
    @Test func textsOfALoopAreNotRetained() throws {
        let step = StepSource(.call(CallSource("strlen", [.text("{index} texts")])))
        let end = StepSource(.break(GuardSource("{index}", ConditionSource(.equals, [.number("9")]))))
        let (execution, _) = try run("strlen", "size (cstring)", [StepSource(.loop([step, end], index: "index"))])
        #expect(execution.arena.blocks.isEmpty)
    }

    /// The symbols of some of these functions are indirect: the linker chooses the implementation, by the processor or
    /// from the kernel.
    @Test(arguments: ["memcpy", "strlen", "time", "gettimeofday", "getenv"])
    func indirectFunctionIsAcceptedAsAFunction(_ name: String) throws {
        var source = BindingSource()
        source.functions = [NamedValue(name, "void ()")]
        source.steps = [StepSource(.call(CallSource(name, [])))]
        _ = try unsafe LinkedProgram(BindingProgram(checking: source, settings: [])) { unsafe dlsym(nil, $0) }
    }

    /// libffi refuses an `int8` after `...`. The check of a manifest refuses it earlier, so this test makes the program
    /// itself.
    @Test(arguments: ["setup[0]", "steps[0]", "stop"]) func linkErrorHasThePathOfTheCall(_ path: String) throws {
        let call = Call(
            function: 0, operands: [.value(.integer(0), .scalar(.int)), .value(.integer(0), .scalar(.int8))], fixedCount: 1,
            result: .void, freedBy: nil)
        let action = Step.CallStep(
            call: call, result: nil, check: nil, until: nil, deliver: nil, cleanup: nil,
            cleansUpAfterFailure: false, isStoppable: false)
        let step = Step(action: .call(action), when: nil, failure: Failure(code: 0, codes: [:], message: nil, text: nil))
        let program = BindingProgram(
            source: BindingSource(), functions: [NamedValue("printf", try Signature(parsing: "void (int, ...)", as: .function))],
            callbacks: [], setup: path == "setup[0]" ? [step] : [], steps: path == "steps[0]" ? [step] : [],
            stop: path == "stop" ? .function(call) : .step, variableCount: 0, readsBody: false)
        let error = #expect(throws: BindingError.self) {
            try unsafe LinkedProgram(program) { unsafe dlsym(nil, $0) }
        }
        #expect(error.map { "\($0.path)" } == path)
    }
}
