// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// UPLOAD: request bodies that a load sends.
extension RuleCatalogue {
    static let uploads: [CheckedRule] = [
        .must(
            "UPLOAD-01", level: 2, needs: .uploads,
            "Every byte of the upload body arrives, in order.",
            because: "If a byte is missing, the file is damaged.",
            remedy: "Read until read_body returns 0."
        ) { context throws(CheckSkipped) in
            // These pieces fill a buffer of a usual size, or are one byte larger. Together they fit into the pipes of a
            // server that runs a program for each request.
            let bufferSizedPieces: [[UInt8]] = [4096, 8192, 16384, 16385].map { count in (0..<count).map { UInt8($0 % 251) } }
            var echoes: Set<String> = []
            for pieces in [CheckContext.pieces, bufferSizedPieces] {
                let bytes = Array(pieces.joined())
                try context.eachUpload(pieces, length: Int64(bytes.count)) { load, record throws(CheckSkipped) in
                    guard record.didFinish else {
                        // A large upload can exceed a limit.
                        if pieces == bufferSizedPieces {
                            throw CheckSkipped.notApplicable("'\(load.url)' accepts no upload of \(bytes.count) bytes")
                        }
                        return context.fail("'\(load.url)': an upload gave \(LoadResult(record).phrase)")
                    }
                    try record.requireReading(load)
                    if record.bytesRead != bytes.count {
                        context.fail("'\(load.url)' finished after it had read \(record.bytesRead) of \(bytes.count) bytes of a body")
                    }
                    // A response of equal length must be the upload itself, or the upload after a mapping of each byte
                    // value, for example to capital letters.
                    if record.body == bytes {
                        echoes.insert(load.url)
                    } else if record.body.count == bytes.count
                        ? !bytes.isMapped(to: record.body) : echoes.contains(load.url) && !bytes.starts(with: record.body)
                    {
                        context.fail("'\(load.url)' returns an upload with different bytes")
                    }
                }
            }
        },
        .must(
            "UPLOAD-02", level: 3, needs: .uploads,
            "If the upload body has no data yet, the load waits without a busy loop.",
            because: "The source may be a person who types.",
            remedy: "Return when read_body returns PORTOLAN_WAIT."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.uploads, isBlocking: false) { load, _, instance throws(CheckSkipped) in
                let (request, plain) = try context.upload(load, CheckContext.pieces, length: CheckContext.length)
                var script = plain
                script.bodySource = .slow
                let expected = LoadResult(try context.perform(request, of: instance, plain))
                guard let record = try context.recordWhenIdle(request, of: instance, script) else {
                    return context.fail("'\(load.url)' did not end with a body that comes in pieces")
                }
                let result = LoadResult(record)
                if record.longestWait > 8 {
                    context.fail("'\(load.url)' called read_body \(record.longestWait) times in a row while the body had no data yet")
                }
                if result != expected, !context.varies(load) {
                    context.fail(
                        "'\(load.url)' gave \(result.phrase) for a body that comes in pieces, but \(expected.phrase) for one in a single piece"
                    )
                }
                // Also notices a load that wakes itself to read again.
                script.bodySource = .silent
                let probedLoad = try context.make(request, of: instance, script)
                try probedLoad.start()
                _ = probedLoad.client.waitUntilHeld(atMost: .milliseconds(200))
                Polling.sleep(.milliseconds(50))
                probedLoad.stop()
                guard let silentRecord = context.recordWhenIdle(probedLoad, within: context.stopTimeLimit) else {
                    throw CheckSkipped("'\(load.url)' was still running after a stop while its body waited (CANCEL-07)")
                }
                if silentRecord.longestWait > 100 {
                    context.fail(
                        "'\(load.url)' called read_body \(silentRecord.longestWait) times in a moment while the body had no data yet")
                }
            }
        },
        .must(
            "UPLOAD-03", level: 3, needs: .uploads,
            "If the upload body fails, the load fails with the error of the body.",
            because: "The peer must not keep half a file.",
            remedy: "Return when read_body returns PORTOLAN_STOPPED."
        ) { context throws(CheckSkipped) in
            try context.eachUpload(from: .failing(2)) { load, record throws(CheckSkipped) in
                try record.requireReading(load)
                if let lateEvent = record.eventsAfterStop.first {
                    context.fail("'\(load.url)': \(lateEvent.call.function) was called after the upload body had failed")
                }
            }
        },
        .must(
            "UPLOAD-04", level: 2, needs: .uploads,
            "An empty upload body works, with and without a length.",
            because: "Empty files are valid.",
            remedy: "If the first read_body returns 0, treat that as the end."
        ) { context throws(CheckSkipped) in
            for length: Int64? in [0, nil] {
                try context.eachUpload([], length: length) { load, record throws(CheckSkipped) in
                    guard record.didFinish else {
                        let phrase = length == nil ? "no bytes and no length" : "no bytes"
                        return context.fail("'\(load.url)': an upload with \(phrase) gave \(LoadResult(record).phrase)")
                    }
                    try record.requireReading(load)
                }
            }
        },
        .must(
            "UPLOAD-05", level: 3, needs: .uploads,
            "An upload body of unknown length works, or the load fails with a clear error.",
            because: "Pipes have no length.",
            remedy: "Check whether body_length is -1."
        ) { context throws(CheckSkipped) in
            try context.eachUpload(CheckContext.pieces, length: nil) { load, record throws(CheckSkipped) in
                guard record.didFinish else {
                    if record.failure?.value == nil {
                        context.fail("'\(load.url)': an upload without a length neither finished nor gave a readable error")
                    }
                    return
                }
                try record.requireReading(load)
                guard record.bytesRead != Int(CheckContext.length) else { return }
                context.fail(
                    "'\(load.url)' read \(record.bytesRead) bytes of an upload of \(CheckContext.length) without a length, and finished")
            }
        },
        .must(
            "UPLOAD-06", level: 3, needs: .uploads,
            "The last total in did_send equals the number of bytes that the load read.",
            because: "Progress bars must reach the end.",
            remedy: "Call did_send after each piece."
        ) { context throws(CheckSkipped) in
            try context.eachUpload { load, record throws(CheckSkipped) in
                let sent = record.calls.compactMap { if case .sent(let total) = $0.call { total } else { nil } }
                guard record.didFinish, let total = sent.last else {
                    throw CheckSkipped.notApplicable("'\(load.url)' never calls did_send")
                }
                guard total != Int64(record.bytesRead) else { return }
                context.fail("'\(load.url)': the last total in did_send was \(total), but the load had read \(record.bytesRead) bytes")
            }
        },
        .must(
            "UPLOAD-07", level: 3, needs: .uploads,
            "If the load has to send the body again, it asks for the body again.",
            because: "The first reading has consumed the body.",
            remedy: "Call rewind_body."
        ) { context throws(CheckSkipped) in
            var hasChecked = false
            try context.eachUpload { load, record throws(CheckSkipped) in
                guard record.didFinish, let challengeIndex = record.calls.lastIndex(where: \.isChallenge) else { return }
                let before = record.calls[..<challengeIndex].readsSinceRewind.reduce(0) { $0 + max(0, $1) }
                guard before > 0 else { return }
                hasChecked = true
                guard !record.calls[challengeIndex...].contains(where: { $0.call == .rewind }) else { return }
                context.fail(
                    "'\(load.url)' had read \(before) bytes of its upload at its challenge, but finished without asking for the body again")
            }
            if !hasChecked { throw CheckSkipped("no URL of the manifest sends a challenge after it has read from an upload") }
        },
        .must(
            "UPLOAD-08", level: 4, needs: .uploads,
            "A body of 1 GiB is sent with constant memory.",
            because: "Bodies can be larger than memory.",
            remedy: "Send each piece before you read the next.", needsProcess: true
        ) { context throws(CheckSkipped) in
            // A binding reads the whole body before its call, up to a limit.
            let wholeBody = context.target.manifest?.wholeBodyLimit ?? 0
            let (length, requiredBytes, limit) = (Int64(1) << 30, Int64(63) << 20, 32 << 20 + 2 * wholeBody)
            try context.eachLoad(.uploads) { load, _, instance throws(CheckSkipped) in
                // Performs one upload without a measurement, because the first upload allocates memory that later ones
                // use again.
                var (request, script) = try context.upload(load, CheckContext.pieces, length: CheckContext.length)
                _ = try context.recordWhenIdle(request, of: instance, script)
                request.body = Body(length: length, isRewindable: false) { () throws(LoadError) in try Body.bytes([]).makeReader() }
                (script.bodySource, script.omitsBodies) = (.endless(length), true)
                let probedLoad = try context.make(request, of: instance, script)
                let before = ProcessResources.residentBytes()
                var peak = before
                let deadline = MonotonicTime.now + context.loadTimeLimit
                try probedLoad.start()
                while !probedLoad.waitUntilIdle(.milliseconds(10)), MonotonicTime.now < deadline {
                    peak = max(peak, ProcessResources.residentBytes())
                }
                probedLoad.stop()
                peak = max(peak, ProcessResources.residentBytes())
                guard context.recordWhenIdle(probedLoad, within: context.stopTimeLimit) != nil else {
                    throw CheckSkipped("'\(load.url)' was still running after a stop (CANCEL-04)")
                }
                let bytesGiven = probedLoad.client.state.withLock(\.endlessBytesGiven)
                if peak - before > limit {
                    context.fail(
                        "'\(load.url)' took \((peak - before) >> 20) MiB of memory for \(bytesGiven >> 20) MiB of an upload of 1 GiB")
                } else if bytesGiven < requiredBytes {
                    let isRefused = probedLoad.record.failure != nil || bytesGiven == 0
                    let phrase = "'\(load.url)' read \(bytesGiven >> 20) MiB of an upload of 1 GiB"
                    throw isRefused
                        ? CheckSkipped.notApplicable(phrase) : CheckSkipped("\(phrase) in its time; give it more time with --timeout")
                }
            }
        },
        .must(
            "UPLOAD-09", level: 3, isEnforced: true, needs: .uploads,
            "An upload body with more or fewer bytes than declared is an error.",
            because: "The peer counts the bytes.",
            remedy: "Do nothing. The host compares the numbers, and stops the load at read_body."),
    ]
}

extension CheckContext {
    /// Calls `body` with the record of each upload.
    func eachUpload(
        _ pieces: [[UInt8]] = CheckContext.pieces, length: Int64? = CheckContext.length, from source: ClientScript.BodySource = .ready,
        _ body: (ConformanceLoad, LoadRecord) throws(CheckSkipped) -> Void
    ) throws(CheckSkipped) {
        try eachLoad(.uploads) { load, _, instance throws(CheckSkipped) in
            let (request, plain) = try upload(load, pieces, length: length)
            var script = plain
            script.bodySource = source
            guard let record = try recordWhenIdle(request, of: instance, script) else {
                let phrase = length.map { ValueFormatting.count(Int($0), "byte") } ?? "unknown length"
                return fail("'\(load.url)' did not end with an upload of \(phrase)")
            }
            try body(load, record)
        }
    }
}

extension LoadRecord {
    /// The return values of the reads since the last rewind.
    private var reads: [Int64] { calls[...].readsSinceRewind }

    /// Throws if the load does not read its upload body at all.
    fileprivate func requireReading(_ load: ConformanceLoad) throws(CheckSkipped) {
        if !calls.contains(where: { if case .readBody = $0.call { true } else { false } }) {
            throw CheckSkipped.notApplicable("'\(load.url)' does not read its upload body")
        }
    }

    fileprivate var bytesRead: Int { Int(reads.reduce(0) { $0 + max(0, $1) }) }

    /// The length of the longest sequence of reads that returned WAIT, without another call except `wake` between them.
    fileprivate var longestWait: Int {
        var (longest, currentLength) = (0, 0)
        for call in calls.map(\.call) where call != .wake {
            if case .readBody(let count) = call, count < 0 { currentLength += 1 } else { currentLength = 0 }
            longest = max(longest, currentLength)
        }
        return longest
    }
}

extension ArraySlice<RecordedCall> {
    /// The return value of each read of the upload body since the last rewind.
    fileprivate var readsSinceRewind: [Int64] {
        let start = lastIndex { $0.call == .rewind } ?? startIndex
        return self[start...].compactMap { if case .readBody(let count) = $0.call { count } else { nil } }
    }
}

extension [UInt8] {
    /// Whether `others`, which has the same length, results from a mapping of each byte value.
    fileprivate func isMapped(to others: Self) -> Bool {
        var mapping = [UInt8?](repeating: nil, count: 256)
        for (byte, other) in zip(self, others) {
            guard (mapping[Int(byte)] ?? other) == other else { return false }
            mapping[Int(byte)] = other
        }
        return true
    }
}
