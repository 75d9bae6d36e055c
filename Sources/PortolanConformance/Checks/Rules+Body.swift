// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// BODY: the bytes, and the response's statements about them.
extension RuleCatalogue {
    static let body: [CheckedRule] = [
        .must(
            "BODY-01", level: 2, needs: .succeeds,
            "A load returns the digest, length, MIME type and status that the manifest states.",
            because: "This is the purpose of a load.",
            remedy: "Compare the delivered bytes with the source. If the manifest is wrong, correct it."
        ) { context throws(CheckSkipped) in
            let allWithContents = try context.everyLoad().filter { $0.statesContents && !$0.tags.contains(.hangs) }
            let loadsWithContents = allWithContents.filter(\.isLoadable)
            guard !loadsWithContents.isEmpty else {
                let reason = context.missingServer(of: allWithContents)
                throw CheckSkipped(
                    reason.map { "every URL with a digest, length, MIME type or status needs \($0)" }
                        ?? "the manifest states no digest, length, MIME type or status")
            }
            let instance = try context.instance()
            for load in loadsWithContents {
                // If a redirect leads out of the plugin, the plugin does not deliver the body.
                guard let last = try context.follow(load, of: instance).last, !last.calls.contains(where: \.isFollowedRedirect) else {
                    continue
                }
                context.fail(last.differences(from: load).map { "'\(load.url)' \($0)" })
            }
            instance.end()
        },
        .must(
            "BODY-02", level: 2, isEnforced: true, needs: .succeeds,
            "If the response states an expected length, the body has exactly that number of bytes.",
            because: "Callers use the length for buffers and progress bars.",
            remedy: "State the exact length, or -1 if it is unknown.",
            check: eachLoad(beside: [.large]) { record in
                guard record.didFinish, let response = record.responses.last?.value, record.responses.count == 1 else { return [] }
                if response.expectedLength < -1 { return ["the response states an expected length of \(response.expectedLength)"] }
                guard response.expectedLength >= 0, response.expectedLength != record.countedBytes else { return [] }
                return ["the response states \(response.expectedLength) bytes, but \(record.countedBytes) came"]
            }),
        .must(
            "BODY-03", level: 3, needs: .succeeds,
            "Bytes that did_load passes to the client do not change during the call.",
            because: "The client checks the bytes first, and reads them again later.",
            remedy: "Pass memory that nothing writes to until the call has returned."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            for load in try context.loads(.succeeds) {
                var script = CheckContext.script(for: load)
                // Gives another thread time to overwrite the bytes. The first delays are longer, for a thread that has
                // to wait for a processor.
                script.whileDelivering = { index, call in
                    if index < 8, case .data = call { Polling.sleep(.milliseconds(index < 4 ? 40 : 3)) }
                }
                let record = try context.perform(context.request(load.url), of: instance, script)
                if record.calls.contains(where: { if case .data(_, _, true) = $0.call { true } else { false } }) {
                    context.fail("'\(load.url)': bytes changed during the call of did_load")
                }
            }
            instance.end()
        },
        .must(
            "BODY-04", level: 2, isEnforced: true, needs: .succeeds,
            "All bytes that did_load passes are readable. A call with length 0 does not end the body.",
            because: "If the length is wrong, the client reads memory beyond the buffer.",
            remedy: "Pass each pointer with the length of its own buffer.",
            check: eachLoad { record in
                for call in record.calls {
                    if case .data(let count, false, _) = call.call {
                        return ["did_load received \(UInt(bitPattern: count)) bytes, but not all of them can be read"]
                    }
                }
                return []
            }),
        .should(
            "BODY-05", level: 5, needs: .large,
            "Bodies of more than 1 MiB are delivered in pieces of 4 KiB or more.",
            because: "Each piece costs a call.",
            remedy: "Fill a buffer of some KiB before you call did_load.",
            check: eachLoad(.large) { record in
                let pieces = record.calls.count { if case .data(let count, _, _) = $0.call { count > 0 } else { false } }
                guard record.body.count > 1 << 20, pieces > 0, record.body.count / pieces < 4096 else { return [] }
                return ["\(record.body.count >> 10) KiB came in \(pieces) pieces of \(record.body.count / pieces) bytes on average"]
            }),
        .must(
            "BODY-06", level: 2, needs: .empty,
            "A load with an empty body sends a response and finishes.",
            because: "An empty body is a result, not a failure.",
            remedy: "Send the response and finish.",
            check: eachLoad(.empty) { record in
                record.didFinish && !record.responses.isEmpty && record.body.isEmpty
                    ? [] : ["an empty body needs a response and a finish, but the load emitted \(record.summary)"]
            }),
        .must(
            "BODY-07", level: 4, needs: .large,
            "Lengths and offsets have 64 bits. A body of more than 4 GiB arrives completely.",
            because: "A 32-bit counter overflows silently.",
            remedy: "Count in int64_t."
        ) { context throws(CheckSkipped) in
            let hugeLoads = try context.everyLoad().filter { $0.isHuge && $0.needs.isEmpty }
            guard !hugeLoads.isEmpty else { throw CheckSkipped("the manifest names no URL with a body of 4 GiB or more") }
            let instance = try context.instance()
            for load in hugeLoads {
                var script = CheckContext.script(for: load)
                script.omitsBodies = true
                let probedLoad = try context.make(context.request(load.url), of: instance, script)
                try probedLoad.start()
                guard let record = context.recordWhenIdle(probedLoad, within: context.loadTimeLimit * 3) else {
                    throw CheckSkipped("'\(load.url)' did not end in time; give it more time with --timeout")
                }
                let count = probedLoad.client.state.withLock(\.bodyLength)
                if count != load.length { context.fail("'\(load.url)' gave \(count) bytes, not \(load.length ?? 0)") }
                let expected = record.responses.last?.value?.expectedLength ?? -1
                if expected >= 0, expected != count {
                    context.fail("'\(load.url)': the response states \(expected) bytes, but \(count) came")
                }
            }
            if context.areAllLoadsIdle { instance.end() }
        },
        .must(
            "BODY-08", level: 2, needs: .uploads,
            "NUL bytes and bytes that are not UTF-8 arrive unchanged.",
            because: "Most resources are not text.",
            remedy: "Use lengths, not strlen."
        ) { context throws(CheckSkipped) in
            let text = (0..<512).map { UInt8(0x20 + $0 % 95) }
            let bytes = (0..<512).map { UInt8(truncatingIfNeeded: $0 * 7) }
            var hasChecked = false
            var echoes: Set<String> = []
            try context.eachUpload([text], length: 512) { load, record throws(CheckSkipped) in
                if record.didFinish, record.body == text { echoes.insert(load.url) }
            }
            try context.eachUpload([bytes], length: 512) { load, record throws(CheckSkipped) in
                guard echoes.contains(load.url) else { return }
                hasChecked = true
                if record.body != bytes {
                    context.fail(
                        "'\(load.url)' returns a text unchanged, but changes 512 bytes with every value "
                            + "(\(ValueFormatting.count(record.body.count, "byte")) came)")
                }
            }
            if !hasChecked { throw CheckSkipped("no URL of the manifest returns what is uploaded to it") }
        },
        .must(
            "BODY-09", level: 2, isEnforced: true, needs: .succeeds,
            "The MIME type and the charset are well-formed (RFC 9110, section 8.3).",
            because: "Other code compares and parses both.",
            remedy: "Write type/subtype without parameters, and the charset as a token.",
            check: eachLoad { record in
                record.responses.compactMap(\.value).flatMap { response -> [String] in
                    var findings: [String] = []
                    if response.mimeType.bytes != nil,
                        response.mimeType.text.flatMap({ MIMEType(parsing: $0) })?.essence.utf8.count != response.mimeType.bytes?.count
                    {
                        findings.append("the MIME type is \(response.mimeType.quoted)")
                    }
                    if response.charset.bytes != nil, response.charset.text.map(Text.isToken) != true {
                        findings.append("the charset is \(response.charset.quoted)")
                    }
                    return findings
                }
            }),
        .must(
            "BODY-10", level: 3, needs: .fails,
            "If the source of a body ends too early, the load fails. It never finishes.",
            because: "Half a file that looks complete is worse than none.",
            remedy: "Compare the received length with the announced length, and fail with PORTOLAN_ERROR_TRUNCATED."
        ) { context throws(CheckSkipped) in
            let truncatedLoads = try context.loads(.fails).filter { ["truncated", "connectionLost"].contains($0.error) }
            guard !truncatedLoads.isEmpty else {
                throw CheckSkipped("the manifest names no URL whose body is cut short (truncated, connectionLost)")
            }
            let instance = try context.instance()
            for load in truncatedLoads {
                if try context.follow(load, of: instance).last?.didFinish == true {
                    context.fail("'\(load.url)', whose body is cut short, finished as if the body were complete")
                }
            }
            instance.end()
        },
        .must(
            "BODY-11", level: 2, isEnforced: true, needs: .succeeds,
            "The URL of a response is an absolute, valid URL.",
            because: "Relative links in the body are resolved against this URL.",
            remedy: "Leave the URL absent, or give the complete URL.",
            check: eachLoad { record in
                record.responses.compactMap(\.value).compactMap { response in
                    guard response.url.bytes != nil else { return nil }
                    // `try?` because only the validity of the URL matters here.
                    let isValid = response.url.text.map { (try? URLRecord(parsing: $0)) != nil } ?? false
                    return isValid ? nil : "the response's URL is \(response.url.quoted)"
                }
            }),
    ]
}

extension ConformanceLoad {
    fileprivate var statesContents: Bool { sha256 != nil || length != nil || mime != nil || status != nil }
}

extension LoadRecord {
    /// The differences from the manifest's statements.
    fileprivate func differences(from load: ConformanceLoad) -> [String] {
        // ERR-01 checks the failure and its reason. Events before the failure must still match.
        if load.error == nil, !didFinish { return ["gave \(LoadResult(self).phrase), but should succeed"] }
        var found: [String] = []
        if let length = load.length, length != body.count {
            found.append("gave \(ValueFormatting.count(body.count, "byte")), not \(length)")
        }
        let response = responses.compactMap(\.value).last
        if let mime = load.mime, response?.mimeType.text?.lowercased() != mime {
            found.append("has the MIME type \(response?.mimeType.quoted ?? "(absent)"), not '\(mime)'")
        }
        if let status = load.status, response?.status != Int32(status) {
            found.append("has the status \(response?.status ?? 0), not \(status)")
        }
        if let statedDigest = load.sha256 {
            let digest = SHA256.hexadecimal(of: body)
            if digest != statedDigest {
                found.append(
                    "gave \(ValueFormatting.count(body.count, "byte")) with the digest \(digest.prefix(16))…, not \(statedDigest.prefix(16))…"
                )
            }
        }
        return found
    }

    /// The number of bytes that were delivered, readable or not.
    fileprivate var countedBytes: Int64 {
        delivered.reduce(0) { sum, call in if case .data(let count, _, _) = call.call { sum &+ Int64(count) } else { sum } }
    }
}
