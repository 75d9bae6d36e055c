// SPDX-License-Identifier: Apache-2.0

/// A manifest's `binding` as it is written. The JSON types of its members are checked, but not the values.
package struct BindingSource: Hashable, Sendable {
    /// Whether the library is a system library. Otherwise it is a file in the manifest's folder.
    package var isSystemLibrary = false
    /// The signatures by function name.
    package var functions: [NamedValue<String>] = []
    /// The fields of structs, by the name of the handles that point to them.
    package var structs: [NamedValue<[NamedValue<StructFieldSource>]>] = []
    package var callbacks: [NamedValue<CallbackSource>] = []
    package var setup: [StepSource] = []
    package var steps: [StepSource] = []
    package var error: ErrorSource?
    package var stop: StopSource?

    package init() {}
}

/// A value with a name, such as a member of a JSON object.
package struct NamedValue<Value: Hashable & Sendable>: Hashable, Sendable {
    package let name: String
    package let value: Value

    package init(_ name: String, _ value: Value) {
        self.name = name
        self.value = value
    }
}

/// `{"offset": 16, "type": "uint32"}`, a field of a struct.
package struct StructFieldSource: Hashable, Sendable {
    package let offset, type: String

    package init(offset: String, type: String) { (self.offset, self.type) = (offset, type) }
}

package struct CallbackSource: Hashable, Sendable {
    package var signature = ""
    /// The parameter with the next bytes of the response body.
    package var deliver: String?
    /// The parameter for the next bytes of the request body.
    package var fill: String?
    /// The return value, and the return value that makes the library stop.
    package var returns, stopped: ArgumentSource?

    package init() {}
}

package struct CallSource: Hashable, Sendable {
    package let function: String
    package let arguments: [ArgumentSource]

    package init(_ function: String, _ arguments: [ArgumentSource]) {
        self.function = function
        self.arguments = arguments
    }
}

/// The JSON value of a C argument.
package indirect enum ArgumentSource: Hashable, Sendable {
    case null
    case boolean(Bool)
    case number(String)
    case text(String)
    /// `{"TYPE": value}` for an argument after `...`, or `{"NAME": size}` for a buffer.
    case typed(String, ArgumentSource)
    /// `{"NAME": {"size": value, "atMost": limit}}` for a buffer.
    case sized(String, ArgumentSource, limit: ArgumentSource)
}

/// `{"equals": 0}` and similar conditions.
package struct ConditionSource: Hashable, Sendable {
    package enum Relation: String, Hashable, Sendable, CaseIterable {
        case equals, differsFrom, atLeast, atMost, oneOf
        case isNull
    }

    package let relation: Relation
    package let operands: [ArgumentSource]

    package init(_ relation: Relation, _ operands: [ArgumentSource]) {
        self.relation = relation
        self.operands = operands
    }
}

/// A value that a step depends on, with its condition.
package struct GuardSource: Hashable, Sendable {
    package let value: String
    package let condition: ConditionSource

    package init(_ value: String, _ condition: ConditionSource) {
        self.value = value
        self.condition = condition
    }
}

package struct StepSource: Hashable, Sendable {
    package indirect enum Action: Hashable, Sendable {
        case call(CallSource)
        case respond(ResponseSource)
        case deliver(String)
        case require(GuardSource)
        /// `index`: the name of the variable that counts the repetitions, from 0.
        case loop([StepSource], index: String?)
        case `break`(GuardSource)
        case steps([StepSource])
    }

    package let action: Action
    package var when: GuardSource?
    package var error: ErrorSource?
    // The following members are only for calls.
    package var result: String?
    package var check, until: ConditionSource?
    package var deliver: String?
    package var cleanup: CallSource?
    /// Whether the cleanup is also called if the call has failed.
    package var cleansUpAfterFailure = false

    package init(_ action: Action) {
        self.action = action
    }
}

package struct ResponseSource: Hashable, Sendable {
    package var status, length, mimeType, textEncoding, filename: ArgumentSource?

    package init() {}
}

package struct ErrorSource: Hashable, Sendable {
    package var code: String?
    package var codes: [NamedValue<String>] = []
    package var message: String?
    /// The call that returns the library's text for the error. The text follows the message.
    package var text: CallSource?

    package init() {}
}

/// How a stop ends a library call that blocks.
package enum StopSource: Hashable, Sendable {
    /// The next callback returns its `stopped` value.
    case callback
    /// Another thread calls this function.
    case function(CallSource)
    /// Nothing ends the call. The load ends before the next step.
    case step
}
