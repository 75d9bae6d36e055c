// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
@_spi(Fuzzing) import PortolanHTTP

/// Records the events of the loads of one case.
final class HTTP2EventLog {
    struct Entry {
        var result = HTTP2Result()
        var sentBytes = 0
        var isSent = false
        var isStopped = false
        /// The first violation of the event order.
        var disorder: String?
    }

    private(set) var entries: [Entry] = []
    private(set) var eventCount = 0
    private let stopped: Int?
    private let pauses: Bool
    private let bodyLengths: [Int]

    init(bodyLengths: [Int], stopped: Int?, pauses: Bool) {
        entries = bodyLengths.map { _ in Entry() }
        (self.bodyLengths, self.stopped, self.pauses) = (bodyLengths, stopped, pauses)
    }

    func stop(_ number: Int) { entries[number].isStopped = true }

    func record(_ number: Int, _ event: InMemoryHTTP2.Event) -> Flow {
        eventCount += 1
        let disorder = disorder(of: event, entries[number], bodyLength: bodyLengths[number])
        entries[number].disorder = entries[number].disorder ?? disorder
        switch event {
        case .sent(let count): entries[number].sentBytes += count
        case .requestIsSent: entries[number].isSent = true
        case .interim(let status): entries[number].result.interim.append(status)
        case .head(let status, let fields, _):
            (entries[number].result.status, entries[number].result.fields) = (status, fields)
            if number == stopped {
                entries[number].isStopped = true
                return .stopped
            }
        case .data(let bytes): entries[number].result.body += bytes
        case .end(let trailers): (entries[number].result.end, entries[number].result.trailers) = (.finished, trailers)
        case .failed(let error, let eligibility): entries[number].result.end = .failed(error.code, eligibility)
        }
        return pauses ? .pause : .keepGoing
    }

    private func disorder(of event: InMemoryHTTP2.Event, _ entry: Entry, bodyLength: Int) -> String? {
        if entry.isStopped { return "\(event) after it was stopped" }
        if entry.result.end != nil { return "\(event) after the end" }
        let hasHead = entry.result.status != nil
        switch event {
        case .sent(let count): return entry.sentBytes + count > bodyLength ? "more was sent than the body has" : nil
        case .requestIsSent: return entry.isSent ? "the request was sent twice" : nil
        case .interim: return hasHead ? "an interim response after the head" : nil
        case .head(_, let fields, let length):
            if hasHead { return "a second head" }
            let announcedLength = fields.first { $0[0] == "content-length" }.flatMap { Int64($0[1].split(separator: ",").first ?? "") }
            return length == nil || length == 0 || announcedLength == length
                ? nil : "a length of \(length ?? 0), but the field says \(announcedLength ?? -1)"
        case .data(let bytes): return !hasHead ? "data before the head" : bytes.isEmpty ? "a piece was empty" : nil
        case .end: return hasHead ? nil : "an end without a head"
        case .failed: return nil
        }
    }
}

/// A run of one connection with one division of the server's bytes into pieces, and the results.
struct HTTP2Run {
    let results: [HTTP2Result]
    /// Whether each load was stopped or cancelled.
    let isStopped: [Bool]
    let output: [UInt8]
    /// Whether the client kept the connection open until the server closed it.
    let wasOpen: Bool

    init(_ pieces: [ArraySlice<UInt8>], _ plan: HTTP2Plan) throws(FuzzFinding) {
        let eventLog = HTTP2EventLog(
            bodyLengths: plan.requests.map { Int($0.body?.length ?? 0) }, stopped: plan.stoppedRequest, pauses: plan.pauses)
        let hasResources: () -> Bool
        do throws(LoadError) {
            let connection = InMemoryHTTP2(plan.configuration) { number, event in eventLog.record(number, event) }
            for request in plan.requests { try connection.start(request) }
            connection.isWritable = !plan.blocksOutput
            for piece in pieces {
                connection.receive(Array(piece))
                if plan.pauses { Self.resumeAll(connection, plan, eventLog) }
            }
            if let number = plan.cancelledRequest {
                connection.cancel(number)
                eventLog.stop(number)
            }
            if plan.waits { connection.advanceTime(by: .seconds(31)) }
            wasOpen = connection.isOpen
            connection.end()
            if plan.pauses { Self.resumeAll(connection, plan, eventLog) }
            connection.isWritable = true
            output = connection.output
            hasResources = connection.remains
        } catch {
            throw FuzzFinding("a request can't be sent: \(error)")
        }
        results = eventLog.entries.map(\.result)
        isStopped = eventLog.entries.map(\.isStopped)
        for (number, entry) in eventLog.entries.enumerated() {
            if let disorder = entry.disorder { throw FuzzFinding("load \(number): \(disorder)") }
            try require(entry.result.end != nil || entry.isStopped, "load \(number) did not end")
        }
        try require(!hasResources(), "resources of the connection still exist")
    }

    /// Resumes all loads until there are no further events.
    private static func resumeAll(_ connection: InMemoryHTTP2, _ plan: HTTP2Plan, _ eventLog: HTTP2EventLog) {
        var count = -1
        while count != eventLog.eventCount {
            count = eventLog.eventCount
            for number in plan.requests.indices { connection.resume(number) }
        }
    }
}
