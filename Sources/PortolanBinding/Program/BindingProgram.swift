// SPDX-License-Identifier: Apache-2.0

/// A checked binding: all calls have the right number and types of arguments, and use existing variables.
package struct BindingProgram: Hashable, Sendable {
    package let source: BindingSource
    let functions: [NamedValue<Signature>]
    let callbacks: [Callback]
    let setup: [Step]
    let steps: [Step]
    let stop: Stop
    let variableCount: Int
    /// Whether a step needs the request's complete body.
    let readsBody: Bool

    package static func == (a: Self, b: Self) -> Bool { a.source == b.source }
    package func hash(into hasher: inout Hasher) { hasher.combine(source) }
}

struct Callback: Hashable, Sendable {
    enum ReturnValue: Hashable, Sendable {
        case nothing
        case integer(Int128)
        /// The number of bytes that the callback delivered or filled.
        case length
    }

    let name: String
    let signature: Signature
    /// The indexes of the parameter whose bytes are delivered, and of the one whose buffer is filled. At most one of
    /// them is set.
    let deliver, fill: Int?
    /// The return value, and the return value that makes the library stop.
    let returns, stopped: ReturnValue
}

/// The value for one C parameter.
enum Operand: Hashable, Sendable {
    case value(Expression, CType)
    /// `freedBy`: the index of the function that frees the text. `nil` if the text is not freed.
    case outParameter(CType, variable: Int, freedBy: Int?)
    case bytes(Expression)
    /// The length of another operand.
    case length(of: Int, ScalarType)
    case buffer(capacity: BufferCapacity, filledBy: Parameter.FilledLength, variable: Int)
    case outBytes(length: Int, variable: Int)
    /// Memory in which the function stores the length of another operand.
    case outLength(ScalarType)
    case callback(Int)
    case userData
}

/// The size of a buffer, in bytes.
enum BufferCapacity: Hashable, Sendable {
    case constant(Int)
    /// A value that the load computes, up to a limit.
    case value(Expression, limit: Int)
}

struct Call: Hashable, Sendable {
    /// The index in the program's functions.
    let function: Int
    let operands: [Operand]
    /// The number of operands before `...`. `nil` if the function has no `...`.
    let fixedCount: Int?
    let result: Signature.ReturnType
    /// The index of the function that frees the result. `nil` if the result is not freed.
    let freedBy: Int?
}

struct Condition: Hashable, Sendable {
    enum Test: Hashable, Sendable {
        case oneOf([Expression])
        case noneOf([Expression])
        case atLeast(Int128)
        case atMost(Int128)
        case isNull(Bool)
    }

    let test: Test
}

struct Guard: Hashable, Sendable {
    let value: Expression
    let condition: Condition
    /// The value as the manifest writes it, with its `{names}`.
    let phrase: String
}

struct Step: Hashable, Sendable {
    struct CallStep: Hashable, Sendable {
        let call: Call
        /// The index of the variable for the result.
        let result: Int?
        /// The condition for success, and the condition that ends a repeated call.
        let check, until: Condition?
        let deliver: Expression?
        let cleanup: Call?
        /// Whether the cleanup is also called if the call has failed.
        let cleansUpAfterFailure: Bool
        /// Whether the program's stop function can be called while this call runs.
        let isStoppable: Bool
    }

    struct Response: Hashable, Sendable {
        let status, length, mimeType, textEncoding, filename: Expression?
    }

    enum Action: Hashable, Sendable {
        case call(CallStep)
        case respond(Response)
        case deliver(Expression)
        case require(Guard)
        /// Performs the steps again and again, until a `break` ends the loop. `index`: the variable for the number of
        /// the repetition, from 0.
        case loop([Step], index: Int?)
        case `break`(Guard)
        /// Performs the steps once.
        case steps([Step])
    }

    let action: Action
    /// The condition for performing the step.
    let when: Guard?
    let failure: Failure

    /// The step, and the steps in it.
    var withInnerSteps: [Step] {
        switch action {
        case .loop(let steps, _), .steps(let steps): [self] + steps.flatMap(\.withInnerSteps)
        case .call, .respond, .deliver, .require, .break: [self]
        }
    }
}

/// The error for a failed step.
struct Failure: Hashable, Sendable {
    let code: Int32
    /// The error codes for particular results of the call.
    let codes: [Int128: Int32]
    let message: Expression?
    /// The call that returns the library's text for the error.
    let text: Call?

    /// Whether the manifest replaces the default message, or adds the library's text to it.
    var hasDetails: Bool { message != nil || text != nil }
}

/// How a stop ends a library call that blocks.
enum Stop: Hashable, Sendable {
    /// The next callback returns its `stopped` value.
    case callback
    /// Another thread calls this function.
    case function(Call)
    /// Nothing ends the call. The load ends before the next step.
    case step
}
