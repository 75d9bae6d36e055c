// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanData
import PortolanTestSupport
import Synchronization
import Testing

/// Loads of `data:` URLs by `DataHandler`.
@Suite struct DataHandlerTests {
    private let loader: Loader = {
        let registry = ProtocolRegistry()
        registry.register(DataHandler())
        return Loader(configuration: .init(), registry: registry)
    }()

    /// The task is cancelled after the protocol load has checked that it may continue, and directly before the protocol
    /// load calls its client.
    @Test(arguments: ["data:,Hello", "data:;base64,SGVsbG8=", "data:;base64,%"]) func cancellationDirectlyBeforeAClientCallIsNoViolation(
        url: String
    )
        throws
    {
        let violatedRules = Mutex<[String]>([])
        let task = Mutex<LoadTask?>(nil)
        let handler = StoppingHandler(DataHandler()) { task.withLock { $0 }?.cancel() }
        let delegate = RecordingDelegate()
        let newTask = PortolanTestSupport.loader(handler) {
            $0.violationObserver = { rule, _ in violatedRules.withLock { $0.append(rule.id) } }
        }
        .task(for: try Request(url), delegate: delegate)
        task.withLock { $0 = newTask }
        newTask.resume()
        #expect(delegate.events.last == .failed(.cancelled))
        #expect(violatedRules.withLock { $0 }.isEmpty)
        task.withLock { $0 = nil }
    }

    @Test func responseHasTheFieldsOfTheFetchStandard() async throws {
        let (body, response) = try await loader.data(from: "data:text/html;charset=utf-8,%3Cp%3E#fragment")
        #expect(String(decoding: body, as: UTF8.self) == "<p>")
        #expect(response.status == .ok)
        #expect(response.mimeType?.description == "text/html;charset=utf-8")
        #expect(response.textEncodingName == "utf-8")
        #expect(response.fields[.contentType] == "text/html;charset=utf-8")
        #expect(response.expectedLength == 3)
        #expect(response.suggestedFilename == "download")
    }

    @Test(arguments: [
        ("data:,Hello", "Hello"), ("DATA:,x", "x"), ("data:,a b", "a b"), ("data:,%00%ff", "\u{0}\u{FFFD}"),
        ("data:;base64,SGVsbG8=", "Hello"), ("data:;base64,SGV sbG8", "Hello"), ("data:,a#b", "a"), ("data:,a?b", "a?b"),
        (" data:,trimmed \n", "trimmed"), ("data://host/,x", "x"), ("data:,", ""), ("data:;base64,", ""),
    ])
    func bodiesAreDecoded(url: String, text: String) async throws {
        let (body, _) = try await loader.data(from: url)
        #expect(String(decoding: body, as: UTF8.self) == text)
    }

    @Test(arguments: ["data:", "data:text/plain", "data:;base64", "data:;base64,A", "data:;base64,A===", "data:;base64,Ä"])
    func malformedURLFailsWithoutAResponse(url: String) throws {
        let delegate = RecordingDelegate()
        loader.task(for: try Request(url), delegate: delegate).resume()
        #expect(delegate.events == [.failed(.badURL)])
        #expect(delegate.error?.message.contains("\n") == false)
    }

    @Test func headRequestHasNoBody() throws {
        var request = try Request("data:,12345")
        request.method = .head
        let delegate = RecordingDelegate()
        loader.task(for: request, delegate: delegate).resume()
        #expect(delegate.events == [.response(request.url), .finished])
    }

    private static let largeBody = [UInt8]((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })

    /// URLs with the body `largeBody`, in base64 and with percent escapes.
    private static let largeURLs: [String] = [
        "data:;base64," + Data(largeBody).base64EncodedString(),
        "data:," + largeBody.map { "%" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined(),
    ]

    @Test(arguments: largeURLs)
    func pausesAtEachEventNeitherLoseNorRepeatBytes(url: String) throws {
        let delegate = RecordingDelegate { _, _ in .pause }
        let task = loader.task(for: try Request(url), delegate: delegate)
        var previousEventCount = -1
        while task.state != .ended, delegate.events.count > previousEventCount {
            previousEventCount = delegate.events.count
            task.resume()
        }
        #expect(delegate.body == Self.largeBody)
        #expect(delegate.events.last == .finished)
    }

    @Test func resumeBeforeTheClientReturnsPauseIsNotLost() throws {
        let protocolLoad = Mutex<(any ProtocolLoad)?>(nil)
        let client = RecordingClient { _, event in
            guard case .response = event else { return .keepGoing }
            protocolLoad.withLock { $0 }?.resumeLoading()
            return .pause
        }
        let load = DataHandler().makeLoad(for: try Request("data:,Hello"), cachedResponse: nil, client: client)
        protocolLoad.withLock { $0 = load }
        load.startLoading()
        protocolLoad.withLock { $0 = nil }
        #expect(client.events == [.response(5), .data(5), .finished])
    }

    @Test func unencodedBodyIsDeliveredInPieces() throws {
        let text = String(repeating: "0123456789", count: 20_000)
        let delegate = RecordingDelegate()
        loader.task(for: try Request("data:," + text), delegate: delegate).resume()
        #expect(delegate.text == text)
        #expect(delegate.events.count > 4)
    }

    @Test(arguments: 0..<5)
    func noDataIsDeliveredAfterStopped(pieceIndex: Int) throws {
        let delegate = RecordingDelegate { event, task in
            if task.progress.bytesReceived / 65_536 >= Int64(pieceIndex) { .stopped } else { .keepGoing }
        }
        loader.task(for: try Request(Self.largeURLs[0]), delegate: delegate).resume()
        #expect(delegate.events.last == .failed(.cancelled))
        #expect(delegate.body.count <= (pieceIndex + 1) * 65_536)
    }
}
