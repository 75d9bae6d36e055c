// SPDX-License-Identifier: Apache-2.0

/// The type of one C value.
enum CType: Hashable, Sendable {
    case scalar(ScalarType)
    /// `cstring`: text that ends with a NUL.
    case text(isOptional: Bool)
    /// `pointer`, or an opaque handle by its name. Handles of different names are not interchangeable.
    case pointer(String?, isOptional: Bool)

    /// The type as a signature writes it.
    var phrase: String {
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
        /// Memory in which the function stores a value.
        case out(CType)
        /// Bytes that the callee borrows; their length is the product of other parameters.
        case bytes(length: [Int])
        /// Memory in which the function stores a pointer to bytes; it stores their length in another parameter.
        case outBytes(length: Int)
        /// A buffer that the callee fills.
        case buffer(capacity: [Int], filledBy: Filled)
        case callback(String)
        /// The pointer by which a callback finds its load.
        case user
    }

    /// Where the number of bytes in a buffer comes from.
    enum Filled: Hashable, Sendable {
        case result
        case parameter(Int)
        /// A callback's buffer, which the host fills.
        case host
    }

    let kind: Kind
    let name: String?
    /// Whether it is only the length of another parameter, and so takes no argument.
    var isMeasure = false

    /// Whether a call needs an argument for it.
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
        /// `freedBy`: the function that frees the pointer after its content was copied.
        case value(CType, freedBy: String?)
        /// A pointer to bytes. The function stores their length in a parameter.
        case bytes(length: Int, freedBy: String?)
    }

    /// The owner of the signature: some types are valid for one role only.
    enum Role { case function, callback }

    var result: ReturnType
    var parameters: [Parameter]
    var isVariadic = false

    static let parameterLimit = 16
    static let textLimit = 1024
}
