// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanHandlers
import PortolanTestSupport
import Testing

@testable import PortolanCLI

@Suite struct GetLoadTests {
    /// Loads `x://h/` with a handler that calls `sendEvents`. Returns a log of the writes and the events, and the
    /// failure.
    private func load(
        _ output: RecordingOutput = RecordingOutput(), includesHead: Bool = false, failsOnHTTPError: Bool = false,
        hasCredentials: Bool = false, method: HTTPRequest.Method = .get,
        sendEvents: @escaping @Sendable (_ client: any ProtocolClient, _ request: Request) -> Void
    ) throws -> (log: [String], failure: Failure?) {
        var configuration = Loader.Configuration()
        configuration.handlers = [ManualHandler(identifier: "test") { sendEvents($0.client, $0.request) }]
        var request = try Request("x://h/")
        request.method = method
        let load = GetLoad(
            output: output, observers: [output], includesHead: includesHead, failsOnHTTPError: failsOnHTTPError,
            credentials: hasCredentials ? [ChallengeResponder(user: "u", password: "p", for: request.url)] : [])
        do throws(Failure) {
            try load.run(request, on: Loader(configuration: configuration, registry: ProtocolRegistry()), grace: .seconds(1))
            return (output.log, nil)
        } catch {
            return (output.log, error)
        }
    }

    private static func deliver(_ text: String, to client: any ProtocolClient) -> Flow {
        let bytes = Array(text.utf8)
        let span = bytes.span
        return unsafe client.didLoad(span.bytes)
    }

    @Test func eventsAreReportedInOrder() throws {
        let (log, failure) = try load { client, request in
            client.didReach(.connected)
            client.didReceiveInterim(Response(url: request.url, status: .earlyHints))
            client.didSend(bodyBytes: 3, total: 3, expected: 9)
            _ = client.didReceive(Response(url: request.url, status: .ok), storage: .notAllowed)
            _ = Self.deliver("ab", to: client)
            _ = Self.deliver("c", to: client)
            client.didReceiveTrailers([.age: "1"])
            client.didFinishLoading()
        }
        #expect(failure == nil)
        #expect(
            log == [
                "started test", "step connected", "interim 103", "sent 3", "response 200", "begin", "write ab", "write c", "trailers 1",
                "metrics 1", "complete",
                "finished 3 0",
            ])
    }

    @Test func headIsWrittenBeforeTheBody() throws {
        let (log, _) = try load(includesHead: true) { client, request in
            _ = client.didReceive(
                Response(url: request.url, expectedLength: 1, status: .notFound, fields: [.age: "1"]), storage: .notAllowed)
            _ = Self.deliver("b", to: client)
            client.didFinishLoading()
        }
        #expect(log.dropFirst(2).prefix(3) == ["begin", "write 404 Not Found\nage: 1\ncontent-length: 1\n\n", "write b"])
    }

    @Test func bodyOfAResponseToHEADIsNotWritten() throws {
        let (log, failure) = try load(includesHead: true, method: .head) { client, request in
            _ = client.didReceive(Response(url: request.url, expectedLength: 1), storage: .notAllowed)
            #expect(Self.deliver("b", to: client) == .keepGoing)
            client.didFinishLoading()
        }
        #expect(failure == nil)
        #expect(log == ["started test", "response 0", "begin", "write content-length: 1\n\n", "complete", "finished 0 0"])
    }

    @Test(arguments: [(true, "age: a\\u{9b}31m"), (false, "age: a\u{9B}31m")])
    func controlCharactersAreEscapedForATerminal(isTerminal: Bool, line: String) throws {
        let field = try #require(HTTPField(name: .age, latin1: "a\u{9B}31m"))
        var fields = HTTPFields()
        fields.append(field)
        let (log, _) = try load(RecordingOutput(isTerminal: isTerminal), includesHead: true) { [fields] client, request in
            _ = client.didReceive(Response(url: request.url, fields: fields), storage: .notAllowed)
            client.didFinishLoading()
        }
        #expect(log.contains("write \(line)\n\n"))
    }

    @Test(arguments: [399, 400, 404, 599])
    func failOptionRejectsAStatusOf400OrMore(code: Int) throws {
        let (log, failure) = try load(failsOnHTTPError: true) { client, request in
            _ = client.didReceive(Response(url: request.url, status: .init(code: code)), storage: .notAllowed)
            _ = Self.deliver("b", to: client)
            client.didFinishLoading()
        }
        #expect(failure?.status == (code >= 400 ? .httpError : nil))
        #expect(log.contains("write b") == (code < 400))
    }

    @Test(arguments: [(599, "", "is 599"), (404, "Not Found", "is 404 Not Found")])
    func failureNamesTheStatus(code: Int, reason: String, end: String) throws {
        let (_, failure) = try load(failsOnHTTPError: true) { client, request in
            _ = client.didReceive(Response(url: request.url, status: .init(code: code, reasonPhrase: reason)), storage: .notAllowed)
        }
        #expect(failure?.message?.hasSuffix(end) == true)
    }

    @Test func failureOfTheLoadAbandonsTheOutput() throws {
        let (log, failure) = try load { client, request in
            _ = client.didReceive(Response(url: request.url), storage: .notAllowed)
            _ = Self.deliver("b", to: client)
            client.didFail(with: LoadError(.truncated, message: "cut off"))
        }
        #expect(failure?.status == .truncated)
        #expect(failure?.message == "cut off")
        #expect(log.suffix(2) == ["write b", "abandon"])
    }

    @Test func failingOutputStopsTheHandler() throws {
        let writeFailure = Failure(.writeFailed, "full")
        let (log, failure) = try load(RecordingOutput(writeFailure: writeFailure)) { client, request in
            _ = client.didReceive(Response(url: request.url), storage: .notAllowed)
            #expect(Self.deliver("b", to: client) == .stopped)
        }
        #expect(failure == writeFailure)
        #expect(log.last == "abandon")
    }

    @Test func redirectsAreReportedAndCounted() throws {
        let (log, failure) = try load { client, request in
            if request.url.path == "/" {
                var next = request
                next.url = (try? URLRecord(parsing: "/b", relativeTo: request.url)) ?? request.url
                _ = client.wasRedirected(to: next, redirectResponse: Response(url: request.url, status: .found))
            } else {
                _ = client.didReceive(Response(url: request.url), storage: .notAllowed)
                client.didFinishLoading()
            }
        }
        #expect(failure == nil)
        #expect(log == ["started test", "redirected x://h/b", "response 0", "begin", "complete", "finished 0 1"])
    }

    @Test func nestedLoadsAreReported() throws {
        let (log, failure) = try load { client, request in
            if request.url.path == "/" {
                guard let inner = try? Request("x://h/inner") else { return }
                client.makeNestedLoad(for: inner, client: client).startLoading()
            } else {
                _ = client.didReceive(Response(url: request.url), storage: .notAllowed)
                _ = Self.deliver("ab", to: client)
                client.didFail(with: LoadError(.connectionLost, message: "gone"))
            }
        }
        #expect(
            log == [
                "started test", "inner 1 x://h/inner test", "response 0", "begin", "write ab", "innerEnd 1 x://h/inner 2 connectionLost",
                "abandon",
            ])
        #expect(failure?.status == .connectionLost)
    }

    /// The server rejects each password, and sends challenges until the client gives no credential.
    @Test func rejectedPasswordIsNotSentAgain() throws {
        let (log, failure) = try load(hasCredentials: true) { client, request in
            @Sendable func sendChallenge(_ failureCount: Int) {
                let space = ProtectionSpace(kind: .password(scheme: "basic"), protocolName: "x", host: "h", realm: "r")
                client.didReceive(
                    AuthenticationChallenge(protectionSpace: space, previousFailureCount: failureCount) { answer in
                        switch answer {
                        case .use(let credential):
                            #expect(credential == .password(user: "u", password: "p"))
                            sendChallenge(failureCount + 1)
                        default: client.didFail(with: LoadError(.authenticationCancelled, message: "cancelled"))
                        }
                    })
            }
            sendChallenge(0)
        }
        #expect(log == ["started test", "challenged h 0 answered", "challenged h 1 refused", "abandon"])
        #expect(failure?.status == .notAuthenticated)
        #expect(failure?.message == "the user name and password were refused by realm 'r' of 'h'; check both")
    }
}
