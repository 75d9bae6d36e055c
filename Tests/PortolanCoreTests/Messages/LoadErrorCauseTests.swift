// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCore

/// How many causes an error has, whoever puts them together.
@Suite struct LoadErrorCauseTests {
    private struct Odd: Error, CustomStringConvertible { let description: String }

    private static func wrapped(_ root: any Error, _ count: Int) -> LoadError {
        var error = LoadError(.unknown, message: "1", cause: root)
        for layer in 2...count { error = LoadError(.unknown, message: "\(layer)", cause: error) }
        return error
    }

    @Test(
        "An error that is wrapped keeps its nearest causes and the first",
        arguments: [
            (8, "8: 7: 6: 5: 4: 3: 2: 1: root"), (9, "9: 8: 7: 6: 5: 4: 3: 2: (1 cause left out) root"),
            (10, "10: 9: 8: 7: 6: 5: 4: 3: (2 causes left out) root"),
            (100_000, "100000: 99999: 99998: 99997: 99996: 99995: 99994: 99993: (99992 causes left out) root"),
        ])
    func aWrappedErrorKeepsItsNearestCauses(_ count: Int, _ description: String) {
        #expect(Self.wrapped(LoadError(.ioFailed, message: "root"), count).description == description)
    }

    @Test("A first cause of another type keeps its words") func aForeignRootKeepsItsWords() {
        #expect((Self.wrapped(Odd(description: "odd"), 8).causes().last as? Odd)?.description == "odd")
        #expect(
            Self.wrapped(Odd(description: "odd"), 9).causes().last as? LoadError == LoadError(.unknown, message: "(1 cause left out) odd"))
    }

    @Test("A cause that is set later is limited, too") func aCauseThatIsSetLaterIsLimited() {
        var error = LoadError(.unknown, message: "x")
        for _ in 0..<100_000 { error.cause = error }
        #expect(error.causes().count == 8 && error.description.hasSuffix("(99992 causes left out) x"))
    }

    @Test(
        "Only the words of the count are taken for it",
        arguments: [
            ("", "(2 causes left out) "), ("(", "(2 causes left out) ("), ("(1 cause left out) x", "(3 causes left out) x"),
            ("(1 cause left out)", "(3 causes left out) "), ("(0 causes left out) x", "(2 causes left out) (0 causes left out) x"),
            ("(-1 causes left out) x", "(2 causes left out) (-1 causes left out) x"),
            ("(\(Int.max) causes left out) x", "(\(Int.max) causes left out) x"),
            ("(99999999999999999999 causes left out) x", "(2 causes left out) (99999999999999999999 causes left out) x"),
            ("(two causes left out) x", "(2 causes left out) (two causes left out) x"),
        ])
    func onlyTheCountIsTakenForIt(_ message: String, _ sum: String) {
        #expect(OmittedCauses.adding(2, to: message) == sum)
    }
}
