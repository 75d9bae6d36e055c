// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Loads a `data:` URL in one of four variants. The delegate must receive what ``DataReference`` expects, or the start
/// of it if the load is stopped.
///
/// The first byte of the input selects the variant; the others are the text of the URL.
struct DataCase {
    private enum Variant: CaseIterable { case whole, head, paused, stopped }

    private let variant: Variant
    private let text: String

    /// The length in bytes of a large URL. Its data, also if it is in base64, exceeds one piece of the handler.
    private static let largeByteCount = 90_000

    init(_ input: [UInt8]) {
        var source = ByteSource(input)
        let mode = source.next()
        variant = Variant.allCases[Int(mode & 3)]
        var bytes = source.takeRest()
        if mode & 4 == 0 { bytes = Array("data:".utf8) + bytes }
        if mode >> 3 == 31 { bytes = Self.enlarged(bytes) }
        text = String(decoding: bytes, as: UTF8.self)
    }

    /// Repeats the bytes behind the comma until the URL is large.
    private static func enlarged(_ bytes: [UInt8]) -> [UInt8] {
        guard let comma = bytes.firstIndex(of: UInt8(ascii: ",")), comma + 1 < bytes.count else { return bytes }
        let data = bytes[(comma + 1)...]
        var largeURL = Array(bytes[...comma])
        while largeURL.count < largeByteCount { largeURL += data }
        return largeURL
    }

    private static let loader: Loader = {
        var configuration = Loader.Configuration()
        configuration.timeouts = Timeouts()
        return Loader(configuration: configuration)
    }()

    func check() throws(FuzzFinding) {
        guard let url = try? URLRecord(parsing: text), url.scheme == "data" else { return }
        let expected = DataReference(url.string)
        let client = PieceDelegate(flow: variant == .paused ? .pause : .keepGoing, stopsAt: variant == .stopped ? text.utf8.count % 5 : nil)
        let task = Self.loader.task(for: Request(url: url, method: variant == .head ? .head : .get), delegate: client)
        task.resume()
        while !client.received.hasEnded {
            let count = client.received.count
            task.resume()
            let received = client.received
            try require(received.count > count, "no event followed a resume; \(received.count) events came before it")
        }
        task.cancel()
        try check(client.received, expected)
    }

    private func check(_ received: PieceDelegate.Record, _ expected: DataReference?) throws(FuzzFinding) {
        if let disorder = received.disorder { throw FuzzFinding(disorder) }
        if variant == .stopped, case .failed(.cancelled)? = received.end {
            let isStartOfBody = expected.map { received.body.isStart(of: $0.body) } ?? false
            return try require(isStartOfBody, "the bytes before the stop are not the start of the body")
        }
        guard let expected else {
            try require(
                received.end == .failed(.badURL), "the URL is invalid, but the load ended with \(String(describing: received.end))")
            return try require(received.response == nil, "a response came for an invalid URL")
        }
        try require(received.end == .finished, "the URL is valid, but the load ended with \(String(describing: received.end))")
        let mimeType = received.response?.mimeType.map { MIMEReference(type: $0) }
        try require(mimeType == expected.mimeType, "the type is \(String(describing: mimeType)) instead of \(expected.mimeType)")
        let length = received.response?.expectedLength
        try require(
            length == Int64(expected.body.count), "the length is \(String(describing: length)) instead of \(expected.body.count)")
        let body = variant == .head ? [] : expected.body
        if received.body.count == body.count, received.body.isStart(of: body) { return }
        let difference = zip(received.body, body).enumerated().first { $1.0 != $1.1 }?.offset ?? min(received.body.count, body.count)
        throw FuzzFinding("the body has \(received.body.count) bytes instead of \(body.count); the first difference is at \(difference)")
    }
}
