// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

@_spi(Fuzzing) @testable import PortolanHTTP
@testable import PortolanHTTPSyntax

/// A transaction that records its events. It returns ``flow`` for a response and for data. Use it on the thread of the
/// test.
final class RecordingTransaction: HTTPTransaction {
    enum Event: Equatable {
        /// The client has sent this number of bytes of the request's body.
        case sent(Int)
        case requestSent
        /// The status of an interim response.
        case interim(Int)
        /// The status and the body length of the final response.
        case response(Int, length: Int64?)
        /// A piece of content with this number of bytes.
        case data(Int)
        case end
        case failed(LoadError.Code)

        var isEnd: Bool {
            switch self {
            case .end, .failed: true
            case .sent, .requestSent, .interim, .response, .data: false
            }
        }
    }

    let preparedRequest: PreparedRequest
    let upload: RequestBodySource?
    private(set) var events: [Event] = []
    private(set) var fields = HTTPFields()
    private(set) var bytes: [UInt8] = []
    private(set) var trailers: HTTPFields?
    private(set) var error: LoadError?
    private(set) var eligibility: RetryEligibility?
    private(set) var report: TransferReport?
    /// The result of each delivery of a response or of data.
    var flow = Flow.keepGoing

    init(_ method: HTTPRequest.Method = .get, path: String = "/", fields: HTTPFields = [:], body: Body? = nil) throws {
        upload = try body.map { try RequestBodySource($0) }
        let expectation: HTTPFields = fields[.expect].map { [.expect: $0] } ?? [:]
        let request = Request(url: try URLRecord(parsing: "https://example.org" + path), method: method, fields: expectation, body: body)
        var preparedRequest = try PreparedRequest(request, configuration: HTTPConfiguration())
        // Only the fields of the test, without those that every request has.
        preparedRequest.fields = fields
        self.preparedRequest = preparedRequest
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }
    var endCount: Int { events.count(where: \.isEnd) }

    func didSend(bodyBytes: Int) { events.append(.sent(bodyBytes)) }
    func requestIsSent() { events.append(.requestSent) }
    func didReceiveInterim(_ head: ResponseHead) { events.append(.interim(head.status)) }
    func didReceive(_ head: ResponseHead, bodyLength length: Int64?) -> Flow {
        events.append(.response(head.status, length: length))
        fields = head.fields
        return flow
    }
    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        unsafe bytes.withUnsafeBytes { unsafe self.bytes += $0 }
        events.append(.data(bytes.byteCount))
        return flow
    }
    func didEnd(trailers: HTTPFields?, report: TransferReport) {
        events.append(.end)
        (self.trailers, self.report) = (trailers, report)
    }
    func didFail(_ error: LoadError, eligibility: RetryEligibility, report: TransferReport) {
        events.append(.failed(error.code))
        (self.error, self.eligibility, self.report) = (error, eligibility, report)
    }
}
