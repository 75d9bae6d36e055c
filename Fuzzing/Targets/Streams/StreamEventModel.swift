// SPDX-License-Identifier: Apache-2.0

import PortolanStreams

/// Which events a stream may report, and must have reported.
struct StreamEventModel {
    /// The number of the handler that may receive events.
    private(set) var handlerNumber: Int?
    private(set) var handlerCount = 0
    private(set) var eventCount = 0
    private(set) var isOpenReported = false
    private(set) var isEndReported = false
    /// Whether the stream has reported that it is ready, and no call is known to have responded.
    private(set) var awaitsResponse = false
    /// Whether a call may have responded to the last event.
    private var mayReportReady = true
    private var isHandling = false

    /// - Returns: the number of the new handler.
    mutating func schedule() -> Int {
        handlerCount += 1
        handlerNumber = handlerCount
        resetReports()
        return handlerCount
    }

    mutating func unschedule() { handlerNumber = nil }

    /// The events may come again, because there is another handler or another offset.
    mutating func resetReports() { (mayReportReady, awaitsResponse, isEndReported) = (true, false, false) }

    /// A read or write begins.
    ///
    /// - Returns: the number of events up to now, for ``didRespond(since:)``.
    mutating func mayRespond() -> Int {
        mayReportReady = true
        return eventCount
    }

    /// A read or write has moved bytes.
    mutating func didRespond(since count: Int) { if count == eventCount { awaitsResponse = false } }

    /// - Parameters:
    ///   - isInCall: whether a read or write is running, which may respond.
    ///   - openingFailed: whether the stream failed before it was open.
    /// - Returns: why the event is wrong.
    mutating func didReport(_ event: StreamEvent, to number: Int, isInput: Bool, isInCall: Bool, openingFailed: Bool) -> String? {
        guard number == handlerNumber else { return "\(event) was reported to a handler that had been removed" }
        guard !isHandling else { return "\(event) was reported while a handler was running" }
        (isHandling, eventCount) = (true, eventCount + 1)
        switch event {
        case .openCompleted:
            if isOpenReported { return "openCompleted was reported twice" }
            isOpenReported = true
        case .bytesAvailable, .spaceAvailable:
            if isInput != (event == .bytesAvailable) { return "the stream reported \(event)" }
            if !isOpenReported { return "\(event) was reported before openCompleted" }
            if isEndReported { return "\(event) was reported after the end" }
            if !mayReportReady { return "\(event) was repeated without a response" }
            (awaitsResponse, mayReportReady) = (true, isInCall)
        case .endEncountered:
            if !isInput || !isOpenReported || isEndReported { return "endEncountered was reported twice, or too early" }
            isEndReported = true
        case .errorOccurred:
            if isEndReported { return "\(event) was reported after the end" }
            if isOpenReported == openingFailed { return "\(event) was reported, but openCompleted was \(isOpenReported ? "" : "not")" }
            isEndReported = true
        }
        return nil
    }

    mutating func didHandle() { isHandling = false }
}
