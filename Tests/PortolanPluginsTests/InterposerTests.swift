// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanData
import PortolanPlugins
import PortolanTestSupport
import Testing

/// The two interposers of a fixture, before all other handlers. Each loads the request again with one more field.
@Suite(.timeLimit(.minutes(2))) struct InterposerTests {
    private let registry = ProtocolRegistry()
    private let plugins: [Plugin]

    init() throws {
        plugins = try ["template", "carrier", "relay", "interposer"].map { try Fixtures.plugin($0, threads: LoadThreadPool(limit: 4)) }
        registry.register(DataHandler())
        for handler in plugins.flatMap(\.handlers) { registry.register(handler) }
    }

    private func load(_ request: Request) async throws -> (delegate: RecordingNestedLoadDelegate, error: LoadError?) {
        let delegate = RecordingNestedLoadDelegate()
        Loader(configuration: .init(), registry: registry).task(for: request, delegate: delegate).resume()
        let error = delegate.waitForEnd()
        for plugin in plugins { plugin.waitUntilIdle() }
        return (delegate, error)
    }

    @Test func bothInterposersWrapTheNextHandler() async throws {
        let (delegate, error) = try await load(Request("data:,hello"))
        #expect(error == nil)
        #expect(delegate.text == "hello")
        #expect(
            delegate.events == [
                "1 data:,hello", "2 data:,hello", "end 2 data:,hello 5", "end 1 data:,hello 5", "trailers x-second: 5",
            ])
    }

    @Test(arguments: CarrierTests.styles)
    func addedFieldsReachTheHandlerAndOthersAreKept(style: String) async throws {
        var request = try Request("\(style)://show")
        request.properties["org.example.unknown"] = .real(1.5)
        request.fields[.accept] = "text/plain"
        let (delegate, _) = try await load(request)
        #expect(delegate.text == "org.example.unknown real 1.5\nAccept: text/plain\nx-through: second first\n")
    }

    /// The interposers also load the nested requests of `relay:`, because these have other URLs. Together these are
    /// eight nested loads, which is the limit.
    @Test func interposersWrapNestedRequestsToo() async throws {
        let (delegate, error) = try await load(Request("relay:relay:data:,hello"))
        #expect(error == nil)
        #expect(delegate.text == "hello")
        #expect(
            delegate.events.filter { !$0.hasPrefix("end") && !$0.hasPrefix("trailers") } == [
                "1 relay:relay:data:,hello", "2 relay:relay:data:,hello", "3 relay:data:,hello", "4 relay:data:,hello",
                "5 relay:data:,hello", "6 data:,hello", "7 data:,hello", "8 data:,hello",
            ])
    }

    @Test func failureOfTheNestedLoadFailsTheParentLoad() async throws {
        let (delegate, error) = try await load(Request("template://missing"))
        #expect(error?.code == .notFound)
        #expect(error?.message.hasPrefix("nothing exists at template://missing") == true)
        #expect(delegate.events.suffix(2) == ["end 2 template://missing 0 notFound", "end 1 template://missing 0 notFound"])
    }

    @Test func uploadPassesThroughBothInterposers() async throws {
        let (delegate, error) = try await load(Request("template://echo", method: .put, body: .text("the body")))
        #expect(error == nil)
        #expect(delegate.text == "the body")
    }

    @Test(arguments: CarrierTests.styles)
    func redirectOfANestedLoadIsFollowed(style: String) async throws {
        let (delegate, error) = try await load(Request("\(style)://redirect"))
        #expect(error == nil)
        #expect(delegate.text.contains("org.portolan.integer integer -9223372036854775808\n"))
    }

    @Test func requestThatTheInterposersDoNotAcceptIsNotWrapped() async throws {
        var request = try Request("data:,hello")
        request.fields[try #require(HTTPField.Name("x-alone"))] = "1"
        let (delegate, _) = try await load(request)
        #expect(delegate.text == "hello")
        #expect(delegate.events.isEmpty)
    }

    /// Records the nested loads and the trailers.
    private final class RecordingNestedLoadDelegate: LoadDelegate {
        private struct State {
            var events: [String] = []
            var bytes: [UInt8] = []
            /// The error of the task; an outer `nil` before the end.
            var endError: LoadError??
        }

        private let state = ConditionLock(State())

        var events: [String] { state.withLock { $0.events } }
        var text: String { String(decoding: state.withLock { $0.bytes }, as: UTF8.self) }
        func waitForEnd() -> LoadError? { state.wait { $0.endError } }

        func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
            unsafe bytes.withUnsafeBytes { bytes in state.withLock { state in unsafe state.bytes.append(contentsOf: bytes) } }
            return .keepGoing
        }
        func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) {
            state.withLock { $0.events.append("trailers " + fields.map { "\($0.name): \($0.value)" }.joined(separator: ", ")) }
        }
        func loadTask(_ task: LoadTask, didBeginNestedTask nestedTask: LoadTask) {
            state.withLock { $0.events.append("\(nestedTask.nestingDepth) \(nestedTask.originalRequest.url)") }
        }
        func loadTask(_ task: LoadTask, nestedTask: LoadTask, didEndWith error: LoadError?) {
            let code = error.map { " \($0.code)" } ?? ""
            state.withLock {
                $0.events.append(
                    "end \(nestedTask.nestingDepth) \(nestedTask.originalRequest.url) \(nestedTask.progress.bytesReceived)\(code)")
            }
        }
        func loadTask(_ task: LoadTask, didEndWith error: LoadError?) { state.withLockBroadcasting { $0.endError = .some(error) } }
    }
}
