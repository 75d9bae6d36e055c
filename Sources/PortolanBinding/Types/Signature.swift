// SPDX-License-Identifier: Apache-2.0

/// What one C value is.
enum CType: Hashable, Sendable {
    case scalar(ScalarType)
    /// `cstring`: text that ends with a NUL.
    case text(isOptional: Bool)
    /// `pointer`, or an opaque handle by its name: one kind of handle is never taken for another.
    case pointer(String?, isOptional: Bool)

    /// As a signature writes it.
    var words: String {
        switch self {
        case .scalar(let scalar): scalar.rawValue
        case .text(let isOptional): isOptional ? "cstring?" : "cstring"
        case .pointer(let name, let isOptional): (name ?? "pointer") + (isOptional ? "?" : "")
        }
    }
}

/// A parameter, as the library sees it.
struct Parameter: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case value(CType)
        /// A place for the function to put a value in.
        case out(CType)
        /// Bytes that are lent to the callee; their length is the product of other parameters.
        case bytes(length: [Int])
        /// A place for the function to put a pointer to bytes in; their length it puts in another parameter.
        case outBytes(length: Int)
        /// Room that the callee fills.
        case buffer(capacity: [Int], filledBy: Filled)
        case callback(String)
        /// The pointer by which a callback finds its load.
        case user
    }

    /// Where the number of bytes in a buffer comes from.
    enum Filled: Hashable, Sendable {
        case result
        case parameter(Int)
        /// A callback's buffer, which this side fills.
        case host
    }

    let kind: Kind
    let name: String?
    /// Whether it only measures another one: no argument stands for it.
    var isMeasure = false

    /// Whether a call has to name an argument for it.
    var takesArgument: Bool {
        switch kind {
        case .callback, .user: false
        case .value, .out, .bytes, .outBytes, .buffer: !isMeasure
        }
    }
}

/// A function's or callback's signature: `int32 (Archive, buffer room[size] filled by result, size size)`.
struct Signature: Hashable, Sendable {
    enum ReturnType: Hashable, Sendable {
        case void
        /// `freedBy`: the function that takes the pointer back once it was copied.
        case value(CType, freedBy: String?)
        /// A pointer to bytes, whose length the function puts in a parameter.
        case bytes(length: Int, freedBy: String?)
    }

    /// Whose signature it is: some types make sense on one side only.
    enum Role { case function, callback }

    var result: ReturnType
    var parameters: [Parameter]
    var isVariadic = false

    static let parameterLimit = 16
    static let textLimit = 1024
}
