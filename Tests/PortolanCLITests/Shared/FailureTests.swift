// SPDX-License-Identifier: Apache-2.0

import Portolan
import Testing

@testable import PortolanCLI

@Suite struct FailureTests {
    @Test(arguments: [("outer: inner", "outer: inner"), ("outer", "outer: inner"), ("inner", "inner")])
    func eachCauseIsReportedOnce(message: String, line: String) {
        let error = LoadError(.pluginRefused, message: message, underlyingError: LoadError(.badRequest, message: "inner"))
        #expect(Failure(error).message == line)
    }

    @Test func causesWithTheSameMessageAreReportedOnce() {
        let innerLayer = LoadError(.badRequest, message: "layer", underlyingError: LoadError(.badRequest, message: "inner"))
        let outerLayer = LoadError(
            .badRequest, message: "layer", underlyingError: LoadError(.badRequest, message: "layer", underlyingError: innerLayer))
        #expect(Failure(outerLayer).message == "layer: inner")
    }
}
