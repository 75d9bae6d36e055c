// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The arguments of a callback in libffi's memory.
@safe
struct CallbackArguments {
    private let signature: Signature
    private let places: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    private let token: UInt

    init(_ signature: Signature, _ places: UnsafeMutablePointer<UnsafeMutableRawPointer?>, token: UInt) {
        self.signature = signature
        unsafe self.places = unsafe places
        self.token = token
    }

    /// Checks the user data, because a library that mixes it up would serve another load.
    func checkUser(of callback: String) throws(RunEnd) {
        guard let index = signature.parameters.firstIndex(where: { $0.kind == .user }) else { return }
        guard word(index) == token else {
            throw RunEnd(.protocolViolation, "the callback '\(callback)' was called with another load's user data")
        }
    }

    private func word(_ index: Int) -> UInt {
        unsafe places[index].map { unsafe $0.load(as: UInt.self) } ?? 0
    }

    /// The address and the length of bytes or a buffer.
    func bytes(_ index: Int, of callback: String) throws(RunEnd) -> (UInt, Int) {
        let measures: [Int]
        switch signature.parameters[index].kind {
        case .bytes(let length): measures = length
        case .buffer(let capacity, _): measures = capacity
        case .value, .out, .outBytes, .callback, .user: return (0, 0)
        }
        var length: Int128 = 1
        for measure in measures {
            guard case .value(.scalar(let scalar)) = signature.parameters[measure].kind, let place = unsafe places[measure],
                case .integer(let factor) = unsafe scalar.load(place), factor >= 0
            else { throw Self.absurd(callback) }
            // Each factor and each partial product are below 2⁶⁴.
            let (product, overflow) = length.multipliedReportingOverflow(by: factor)
            guard !overflow, product <= Self.limit else { throw Self.absurd(callback) }
            length = product
        }
        let address = word(index)
        guard address != 0 || length == 0 else { throw Self.absurd(callback) }
        return (address, Int(length))
    }

    private static let limit: Int128 = 1 << 40

    private static func absurd(_ callback: String) -> RunEnd {
        RunEnd(.protocolViolation, "the callback '\(callback)' was called with bytes of an impossible length, or at NULL")
    }
}
