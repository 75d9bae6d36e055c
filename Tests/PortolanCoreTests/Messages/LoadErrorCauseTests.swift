// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import PortolanCore

/// An error keeps a limited number of causes, whatever types of errors are nested.
@Suite struct LoadErrorCauseTests {
    private struct OtherError: Error, CustomStringConvertible { let description: String }

    /// An error that wraps `root` in `count` load errors.
    private static func wrapped(_ root: any Error, _ count: Int) -> LoadError {
        var error = LoadError(.unknown, message: "1", underlyingError: root)
        for layer in 2...count { error = LoadError(.unknown, message: "\(layer)", underlyingError: error) }
        return error
    }

    @Test(
        "A wrapped error keeps its eight nearest causes and the root cause",
        arguments: [
            (8, "8: 7: 6: 5: 4: 3: 2: 1: root"), (9, "9: 8: 7: 6: 5: 4: 3: 2: (1 cause left out) root"),
            (10, "10: 9: 8: 7: 6: 5: 4: 3: (2 causes left out) root"),
            (100_000, "100000: 99999: 99998: 99997: 99996: 99995: 99994: 99993: (99992 causes left out) root"),
        ])
    func aWrappedErrorKeepsItsNearestCauses(_ count: Int, _ description: String) {
        #expect(Self.wrapped(LoadError(.ioFailed, message: "root"), count).description == description)
    }

    @Test("A root cause of another type keeps its description") func rootCauseOfAnotherTypeKeepsItsDescription() {
        #expect((Self.wrapped(OtherError(description: "odd"), 8).causes().last as? OtherError)?.description == "odd")
        #expect(
            Self.wrapped(OtherError(description: "odd"), 9).causes().last as? LoadError
                == LoadError(.unknown, message: "(1 cause left out) odd"))
    }

    @Test("The number of causes is limited also if a cause is set later") func causesThatAreSetLaterAreLimited() {
        var error = LoadError(.unknown, message: "x")
        for _ in 0..<100_000 { error.underlyingError = error }
        #expect(error.causes().count == 8 && error.description.hasSuffix("(99992 causes left out) x"))
    }

    /// An error of another type that has an underlying error.
    private struct Wrapper: Error { let underlying: any Error }

    private enum Failure: Error {
        case nothing
        case failed(any Error, at: Int)
    }

    /// An error that counts how often its description is read.
    private final class CountingError: Error, CustomStringConvertible, Sendable {
        let count = Mutex(0)
        var description: String {
            count.withLock { $0 += 1 }
            return "root"
        }
    }

    @Test("The description of each cause is read once", arguments: [1, 4, 8]) func descriptionOfEachCauseIsReadOnce(_ depth: Int) {
        let root = CountingError()
        var error: any Error = root
        for layer in 0..<depth { error = LoadError(.unknown, message: "\(layer)", underlyingError: error) }
        #expect("\(error)".hasSuffix(": root"))
        #expect(root.count.withLock { $0 } == 1)
    }

    @Test("Errors of other types in the chain count as causes", arguments: [20, 10_000])
    func errorsOfOtherTypesAreCounted(_ count: Int) {
        for wrap in [{ Wrapper(underlying: $0) }, { Failure.failed($0, at: 7) }] as [(any Error) -> any Error] {
            var error = LoadError(.ioFailed, message: "root")
            for layer in 1...count { error = LoadError(.unknown, message: "e\(layer)", underlyingError: wrap(error)) }
            let text = error.description
            #expect(text.hasPrefix("e\(count): ") && text.contains("causes left out) root"))
            #expect(text.utf8.count < 4000, "\(text)")
        }
    }

    @Test("A short chain keeps its errors of other types") func aShortChainKeepsItsErrorsOfOtherTypes() {
        let error = LoadError(.unknown, message: "outer", underlyingError: Wrapper(underlying: LoadError(.ioFailed, message: "inner")))
        #expect(((error.underlyingError as? Wrapper)?.underlying as? LoadError)?.message == "inner")
        #expect((LoadError(.unknown, message: "outer", underlyingError: Failure.nothing).underlyingError as? Failure) != nil)
    }

    @Test(
        "Only text of the exact form '(N causes left out)' is parsed as a count of omitted causes",
        arguments: [
            ("", "(2 causes left out) "), ("(", "(2 causes left out) ("), ("(1 cause left out) x", "(3 causes left out) x"),
            ("(1 cause left out)", "(3 causes left out) "), ("(0 causes left out) x", "(2 causes left out) (0 causes left out) x"),
            ("(-1 causes left out) x", "(2 causes left out) (-1 causes left out) x"),
            ("(\(Int.max) causes left out) x", "(\(Int.max) causes left out) x"),
            ("(99999999999999999999 causes left out) x", "(2 causes left out) (99999999999999999999 causes left out) x"),
            ("(two causes left out) x", "(2 causes left out) (two causes left out) x"),
        ])
    func onlyTheExactFormIsParsedAsOmittedCount(_ message: String, _ messageWithSum: String) {
        #expect(OmittedCauses.adding(2, to: message) == messageWithSum)
    }
}
