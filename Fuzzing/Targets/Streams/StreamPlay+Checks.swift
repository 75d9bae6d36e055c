// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanStreams

/// What the streams of a play must be between two steps, and after the script.
extension StreamPlay {
    /// The number of bytes in a bound pair.
    var unreadCount: Int { output.moved.all.count - input.moved.all.count }

    /// Whether the input has given all bytes of the endpoint.
    var hasReadAll: Bool {
        switch kind {
        case .memory(let total), .buffer(let total, _): input.positions.includesAll(upTo: total)
        case .pair: unreadCount == 0
        case .scripted: input.positions.includesAll(upTo: input.endpoint?.position ?? 0)
        }
    }

    func checkBetweenSteps() throws(FuzzFinding) {
        if let finding { throw finding }
        try input.checkStatus()
        try output.checkStatus()
        if input.status == .atEnd { try require(hasReadAll, "the input is at its end after byte \(input.positions.position)") }
        switch kind {
        case .memory, .buffer:
            if let bytes = output.output?.property(.writtenBytes) {
                try require(bytes == output.moved.all, "the buffer has \(bytes) instead of \(output.moved.all)")
            }
        case .pair:
            try require(input.moved.all.isStart(of: output.moved.all), "\(input.moved.all) was read, but \(output.moved.all) was written")
            if input.isInUse, !output.isClosed, !output.isReleased { try require(input.status != .error, "the input failed") }
        case .scripted: break
        }
        guard let stream = input.input, !input.isClosed, input.positions.isKnown, let offset = stream.property(.currentOffset) else {
            return
        }
        try require(offset == Int64(input.positions.position), "the offset is \(offset) instead of \(input.positions.position)")
    }

    /// Ends the script: everything that waits becomes ready, and all jobs run. Then each handler must know of its
    /// stream what there is to know, and all bytes can be read.
    func finish() throws(FuzzFinding) {
        isOver = true
        settle()
        try checkBetweenSteps()
        for stream in [input, output] { try checkReports(of: stream) }
        input.unschedule()
        output.unschedule()
        if input.isInUse {
            while input.askWhetherReady() { guard case .moved? = move(input, atMost: 24) else { break } }
            try checkBetweenSteps()
            if input.endpoint?.keepsContract ?? true {
                try require(hasReadAll, "bytes were lost: the last one that was read is \(input.positions.position - 1)")
            }
        }
        input.release()
        output.release()
        settle()
        try checkBetweenSteps()
    }

    private func settle() {
        while true {
            if input.endpoint?.completeAll() == true || output.endpoint?.completeAll() == true { continue }
            guard let number = jobs.indices.first(where: { !jobs[$0].isEmpty }) else { return }
            runJob(number)
        }
    }

    /// Checks that no event is missing after all jobs have run.
    private func checkReports(of stream: PlayedStream) throws(FuzzFinding) {
        guard stream.isInUse, stream.events.handlerNumber != nil, stream.endpoint?.keepsContract ?? true, let status = stream.status else {
            return
        }
        let events = stream.events
        if stream.openingResult == true { try require(events.isOpenReported, "openCompleted of the \(stream.name) was not reported") }
        switch status {
        case .atEnd, .error: try require(events.isEndReported, "the \(stream.name) is \(status), which was not reported")
        case .open: if mustBeReady(stream) { try require(events.awaitsResponse, "the \(stream.name) is ready, which was not reported") }
        case .notOpen, .opening, .reading, .writing, .closed: throw FuzzFinding("the \(stream.name) is \(status) at the end of the script")
        }
    }

    private func mustBeReady(_ stream: PlayedStream) -> Bool {
        guard case .pair(let capacity) = kind else { return true }
        if stream.isInput { return unreadCount > 0 || output.isClosed || output.isReleased }
        return unreadCount < capacity || input.isClosed || input.isReleased
    }
}
