// SPDX-License-Identifier: Apache-2.0

/// Direct calls for functions whose arguments are all words. libffi arranges the arguments at each call, which takes
/// longer than most of the called functions run.
extension CallInterface {
    /// Whether the calling convention passes up to six integers and pointers in registers, each widened to a word.
    /// System V for x86-64 (§3.2.3) and AAPCS64 (§6.8.2) do so.
    static let passesWords: Bool = {
        #if os(Linux) && (arch(x86_64) || arch(arm64))
            true
        #else
            false
        #endif
    }()

    private typealias MachineWord = UInt64
    private typealias Words0 = @convention(c) () -> MachineWord
    private typealias Words1 = @convention(c) (MachineWord) -> MachineWord
    private typealias Words2 = @convention(c) (MachineWord, MachineWord) -> MachineWord
    private typealias Words3 = @convention(c) (MachineWord, MachineWord, MachineWord) -> MachineWord
    private typealias Words4 = @convention(c) (MachineWord, MachineWord, MachineWord, MachineWord) -> MachineWord
    private typealias Words5 = @convention(c) (MachineWord, MachineWord, MachineWord, MachineWord, MachineWord) -> MachineWord
    private typealias Words6 = @convention(c) (MachineWord, MachineWord, MachineWord, MachineWord, MachineWord, MachineWord) -> MachineWord

    /// Calls `function` directly, without libffi.
    ///
    /// - Parameter cells: The arguments, each widened to a word.
    /// - Returns: The register of the result. Only the bits of the result's type are valid.
    @inline(__always)
    static func callWords(_ function: Function, _ cells: UnsafeMutablePointer<UInt64>, count: Int) -> UInt64 {
        let c = unsafe cells
        return switch count {
        case 0: unsafe unsafeBitCast(function, to: Words0.self)()
        case 1: unsafe unsafeBitCast(function, to: Words1.self)(c[0])
        case 2: unsafe unsafeBitCast(function, to: Words2.self)(c[0], c[1])
        case 3: unsafe unsafeBitCast(function, to: Words3.self)(c[0], c[1], c[2])
        case 4: unsafe unsafeBitCast(function, to: Words4.self)(c[0], c[1], c[2], c[3])
        case 5: unsafe unsafeBitCast(function, to: Words5.self)(c[0], c[1], c[2], c[3], c[4])
        default: unsafe unsafeBitCast(function, to: Words6.self)(c[0], c[1], c[2], c[3], c[4], c[5])
        }
    }
}

extension FFIType {
    /// Whether a value of this type is passed in an integer register. Also true for `void`.
    var isWord: Bool {
        switch self {
        case .void, .pointer: true
        case .scalar(let scalar): scalar.isInteger || scalar == .bool
        }
    }
}
