// SPDX-License-Identifier: Apache-2.0

import Portolan
import Testing

@testable import PortolanCLI

@Suite struct ExitStatusTests {
    @Test func everyPublishedCodeHasAnExitStatus() {
        #expect(Set(ExitStatus.statuses.keys) == Set(LoadError.Code.published.map(\.code)))
    }

    @Test(arguments: LoadError.Code.published.map(\.code))
    func everyErrorHasAListedExitStatusOtherThanSuccess(code: LoadError.Code) {
        let status = ExitStatus(LoadError(code, message: ""))
        #expect(ExitStatus.all.contains(status))
        #expect((1...255).contains(status.code))
        #expect((status == .unknown) == (code == .unknown))
    }

    @Test func statusesAreListedOnceAndInOrder() {
        let codes = ExitStatus.all.map(\.code)
        #expect(codes == Set(codes).sorted())
    }

    /// Scripts depend on these values. A failure that curl also reports has curl's number.
    @Test(arguments: [
        (LoadError.Code.unsupportedScheme, Int32(1)), (.badURL, 3), (.nameNotFound, 6), (.cannotConnect, 7), (.badResponse, 8),
        (.truncated, 18), (.bodyFailed, 26), (.noMemory, 27), (.timedOut, 28), (.rangeNotSatisfiable, 33), (.secureConnectionFailed, 35),
        (.notFound, 37), (.accessDenied, 37), (.isDirectory, 37), (.notRegularFile, 37), (.ioFailed, 37), (.tooManyRedirects, 47),
        (.connectionLost, 56), (.decodingFailed, 61), (.limitExceeded, 63), (.authenticationRequired, 67), (.authenticationCancelled, 110),
        (.unknown, 100), (.badRequest, 101), (.badRedirect, 102), (.nestedTooDeep, 103), (.noResources, 104), (.notOffered, 105),
        (.protocolViolation, 106), (.pluginNotLoadable, 107), (.pluginRefused, 108), (.cancelled, 109),
        (.certificateNotTrusted, 60), (.trustRootsUnusable, 77), (.clientCertificateUnusable, 58), (.emptyResponse, 52),
        (.proxyNotFound, 5),
        (.tunnelFailed, 56), (.socksFailed, 97),
    ])
    func statusesAreStable(code: LoadError.Code, status: Int32) {
        #expect(ExitStatus(LoadError(code, message: "")).code == status)
    }

    @Test func causeOfARefusedRedirectDecidesTheStatus() {
        for (cause, status) in [(LoadError.Code.unsupportedScheme, Int32(1)), (.badURL, 3)] {
            let error = LoadError(.badRedirect, message: "x", underlyingError: LoadError(cause, message: "y"))
            #expect(ExitStatus(error).code == status)
        }
    }

    @Test func errorsOfPluginsHaveOneStatus() {
        #expect(ExitStatus(LoadError(.notFound, domain: "org.example", message: "")) == .pluginError)
        #expect(ExitStatus(LoadError(LoadError.Code(rawValue: 77), message: "")) == .unknown)
    }
}
