// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanBinding

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Calls through libffi.
@Suite struct CallInterfaceTests {
    @Test func functionOfTheCLibraryIsCalled() throws {
        let interface = try CallInterface(result: .scalar(.int), parameters: [.scalar(.int)])
        let symbol = try unsafe #require(dlsym(nil, "abs"))
        let function = unsafe unsafeBitCast(symbol, to: CallInterface.Function.self)
        let frame = CallFrame()
        unsafe ScalarType.int.store(integer: -7, at: UnsafeMutableRawPointer(frame.cells))
        interface.call(function, frame)
        #expect(unsafe ScalarType.int.loadResult(at: frame.result) == .integer(7))
    }

    /// libffi widens a narrow result to a word, or leaves the previous bits. The reader must use only the bits of the
    /// result's type.
    @Test(arguments: ScalarType.allCases) func resultIsReadByItsType(_ type: ScalarType) {
        let frame = CallFrame()
        unsafe frame.result.pointee = .max
        switch type {
        case .float, .double: break
        case .bool: #expect(unsafe type.loadResult(at: frame.result) == .boolean(true))
        default: #expect(unsafe type.loadResult(at: frame.result) == .integer(type.isSigned ? -1 : type.range.upperBound))
        }
    }

    @Test(arguments: ScalarType.allCases.filter(\.isInteger)) func numberRoundTrips(_ type: ScalarType) {
        let frame = CallFrame()
        for value in [type.range.lowerBound, type.range.upperBound, 0, 1] {
            unsafe type.store(integer: value, at: UnsafeMutableRawPointer(frame.cells))
            #expect(unsafe type.load(at: UnsafeRawPointer(frame.cells)) == .integer(value))
        }
    }
}
