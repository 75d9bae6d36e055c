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

/// A parameter of a C function or callback.
struct Parameter: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case value(CType)
        /// Memory in which the function stores a value.
        ///
        /// `freedBy`: the function that frees the text after it was copied. `nil` if nothing frees it.
        case outParameter(CType, freedBy: String?)
        /// Bytes that the callee borrows. Their length is the product of the parameters with these indexes.
        case bytes(length: [Int])
        /// Memory in which the function stores a pointer to bytes. It stores their length through the parameter with
        /// the index `length`.
        case outBytes(length: Int)
        /// A buffer that the callee fills.
        case buffer(capacity: [Int], filledBy: FilledLength)
        case callback(String)
        /// The user data, by which a callback finds its load.
        case userData
    }

    /// The origin of the number of bytes in a filled buffer.
    enum FilledLength: Hashable, Sendable {
        case result
        case parameter(Int)
        /// A callback's buffer, which the host fills.
        case host
    }

    let kind: Kind
    let name: String?
    /// Whether the parameter is the length of another parameter or of the result. A call then has no argument for it.
    var isLength = false

    /// Whether a call in the manifest has an argument for this parameter.
    var takesArgument: Bool {
        switch kind {
        case .callback, .userData: false
        case .value, .outParameter, .bytes, .outBytes, .buffer: !isLength
        }
    }
}

/// A function's or callback's signature: `int32 (Archive, buffer room[size] filled by result, size size)`.
struct Signature: Hashable, Sendable {
    enum ReturnType: Hashable, Sendable {
        case void
        /// `freedBy`: the function that frees the pointer after its content was copied. `nil` if nothing frees it.
        case value(CType, freedBy: String?)
        /// A pointer to bytes. The function stores their length in a parameter.
        case bytes(length: Int, freedBy: String?)
    }

    /// What the signature describes. Some types are valid only for functions.
    enum Role { case function, callback }

    var result: ReturnType
    var parameters: [Parameter]
    var isVariadic = false

    static let parameterLimit = 16
    static let textLimit = 1024
}
