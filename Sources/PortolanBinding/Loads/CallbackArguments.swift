// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The arguments of a callback in libffi's memory.
@safe
struct CallbackArguments {
    private let signature: Signature
    private let addresses: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    private let token: UInt

    init(_ signature: Signature, _ addresses: UnsafeMutablePointer<UnsafeMutableRawPointer?>, token: UInt) {
        self.signature = signature
        unsafe self.addresses = unsafe addresses
        self.token = token
    }

    /// Checks the user data. Wrong user data means that the library calls the callback of another load.
    func checkUserData(of callback: String) throws(ExecutionEnd) {
        guard let index = signature.parameters.firstIndex(where: { $0.kind == .userData }) else { return }
        guard word(index) == token else {
            throw ExecutionEnd(.protocolViolation, "the callback '\(callback)' was called with another load's user data")
        }
    }

    private func word(_ index: Int) -> UInt {
        unsafe addresses[index].map { unsafe $0.load(as: UInt.self) } ?? 0
    }

    /// Reads the address of bytes or of a buffer, and their length in bytes.
    func bytes(_ index: Int, of callback: String) throws(ExecutionEnd) -> (UInt, Int) {
        let lengthParameters: [Int]
        switch signature.parameters[index].kind {
        case .bytes(let length): lengthParameters = length
        case .buffer(let capacity, _): lengthParameters = capacity
        case .value, .outParameter, .outBytes, .callback, .userData: return (0, 0)
        }
        var length: Int128 = 1
        for lengthParameter in lengthParameters {
            guard case .value(.scalar(let scalar)) = signature.parameters[lengthParameter].kind,
                let address = unsafe addresses[lengthParameter],
                case .integer(let factor) = unsafe scalar.load(at: address), factor >= 0
            else { throw Self.invalidBytes(callback) }
            // Each factor and each partial product are below 2⁶⁴.
            let (product, overflow) = length.multipliedReportingOverflow(by: factor)
            guard !overflow, product <= Self.limit else { throw Self.invalidBytes(callback) }
            length = product
        }
        let address = word(index)
        guard address != 0 || length == 0 else { throw Self.invalidBytes(callback) }
        return (address, Int(length))
    }

    private static let limit: Int128 = 1 << 40

    private static func invalidBytes(_ callback: String) -> ExecutionEnd {
        ExecutionEnd(.protocolViolation, "the callback '\(callback)' was called with bytes of an impossible length, or at NULL")
    }
}
