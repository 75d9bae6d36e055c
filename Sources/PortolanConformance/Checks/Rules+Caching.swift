// SPDX-License-Identifier: Apache-2.0

import CPortolan
import HTTPTypes
import PortolanCore

/// CACHE: responses that can be stored, and loads that receive a stored response.
extension RuleCatalogue {
    static let caching: [CheckedRule] = [
        .must(
            "CACHE-01", level: 2, isEnforced: true, needs: .succeeds,
            "The storage policy is one of the published values.",
            because: "With an unknown value, a secret could be stored.",
            remedy: "Use a value of portolan_storage.",
            check: eachLoad(beside: [.large]) { record in
                record.responses.compactMap(\.value).filter { !(0...2).contains($0.storage) }.map { "the storage policy is \($0.storage)" }
            }),
        .must(
            "CACHE-02", level: 3, isEnforced: true, needs: .storable,
            "A stored response that make received is either confirmed or replaced, never both.",
            because: "Otherwise the caller gets two bodies.",
            remedy: "Call cached_response_is_valid or did_receive_response."
        ) { context throws(CheckSkipped) in
            try context.eachStorableLoad { load, instance throws(CheckSkipped) in
                for offer in [load.currentOffer] + load.outdatedOffers {
                    for isPausing in [false, true] {
                        let record = try context.record(of: load, offering: offer, pausing: isPausing, by: instance)
                        context.fail(responseFindings(record).map { "'\(load.load.url)', offered \(offer.phrase): \($0)" })
                    }
                }
            }
        },
        .must(
            "CACHE-03", level: 3, isEnforced: true, needs: .storable,
            "After a load has confirmed a stored response, it delivers no data and finishes.",
            because: "The host delivers the stored bytes.",
            remedy: "Call did_finish immediately."
        ) { context throws(CheckSkipped) in
            try context.eachStorableLoad { load, instance throws(CheckSkipped) in
                let record = try context.record(of: load, offering: load.currentOffer, by: instance)
                guard let confirmation = record.calls.firstIndex(where: \.isConfirmation) else {
                    throw CheckSkipped.notApplicable("'\(load.load.url)' does not confirm its stored response")
                }
                let later = record.calls[(confirmation + 1)...].filter { $0.within != .destroy }
                if let data = later.first(where: { $0.isBodyOrFinish && $0.call != .finish }) {
                    context.fail("'\(load.load.url)': \(data.call.function) was called after the confirmation of its stored response")
                }
                if let failure = later.first(where: \.isFailure) {
                    context.fail("'\(load.load.url)': \(failure.call.function) was called after the confirmation of its stored response")
                }
            }
        },
        .must(
            "CACHE-04", level: 3, needs: .storable,
            "A damaged stored response does no harm.",
            because: "Disks fail and versions change.",
            remedy: "Check the stored data before you use it.", check: checkDamagedStoredResponses),
        .must(
            "CACHE-05", level: 3, needs: .challenges,
            "A response that needed a credential is not marked as storable for all users.",
            because: "Another user could read it.",
            remedy: "Leave storage at 0 for such a response, or deliver it with the field Cache-Control: private."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.challenges) { load, request, instance throws(CheckSkipped) in
                guard load.credential != nil else { throw CheckSkipped.notApplicable("the manifest has no credential for '\(load.url)'") }
                // A private cache can store such a response of HTTP (RFC 9111 section 3.5). Caches know HTTP's rules.
                guard request.url.scheme != "http", request.url.scheme != "https" else {
                    throw CheckSkipped.notApplicable("'\(load.url)' is loaded by HTTP, whose rules about credentials a cache applies")
                }
                let record = try context.perform(request, of: instance, CheckContext.script(for: load))
                guard record.didFinish, record.calls.contains(where: \.requestsCredentialOfOrigin) else {
                    throw CheckSkipped.notApplicable("'\(load.url)' did not finish after a challenge for a credential")
                }
                for response in record.responses.compactMap(\.value) where response.storage != 0 && !response.saysWhoCanStoreIt {
                    context.fail(
                        "'\(load.url)' needs a credential, but its response has the storage policy \(response.storage), and no field "
                            + "Cache-Control that says for whom it can be stored")
                }
            }
        },
        .must(
            "CACHE-06", level: 3, needs: .storable,
            "If the source has changed, the stored response is not confirmed.",
            because: "Otherwise the caller gets old bytes.",
            remedy: "Compare the validator."
        ) { context throws(CheckSkipped) in
            try context.eachStorableLoad { load, instance throws(CheckSkipped) in
                for offer in load.outdatedOffers {
                    let record = try context.record(of: load, offering: offer, by: instance)
                    if record.calls.contains(where: \.isConfirmation) { context.fail("'\(load.load.url)' confirmed \(offer.phrase)") }
                }
            }
        },
    ]

    /// The ways in which a load that received a stored response gave more than one response, or none.
    private static func responseFindings(_ record: LoadRecord) -> [String] {
        let events = record.delivered
        let confirmationCount = events.count(where: \.isConfirmation)
        let hasResponse = events.contains(where: \.isResponse)
        if confirmationCount > 0, hasResponse { return ["it confirmed the stored response, and delivered another one"] }
        if confirmationCount > 1 { return ["it confirmed the stored response \(confirmationCount) times"] }
        guard confirmationCount == 0, !hasResponse, record.didFinish else { return [] }
        return ["it finished, but neither confirmed nor replaced the stored response"]
    }

    /// Offers undamaged and damaged stored responses. A load that receives one can confirm it. Otherwise its result is
    /// the same as without a stored response.
    private static func checkDamagedStoredResponses(_ context: CheckContext) throws(CheckSkipped) {
        try context.eachStorableLoad { load, instance throws(CheckSkipped) in
            for offer in [load.currentOffer] + load.outdatedOffers + load.damagedOffers {
                guard let record = try context.recordWhenIdle(load, offering: offer, of: instance) else {
                    return context.fail("'\(load.load.url)' did not end, offered \(offer.phrase)")
                }
                // The host ends a load whose stored response can't be read.
                if record.calls.contains(where: { $0.call == .readCached && $0.returnValue == Int64(PORTOLAN_STOPPED.rawValue) }) {
                    continue
                }
                let result = LoadResult(record)
                if result.didFinish, record.delivered.contains(where: \.isConfirmation) { continue }
                if result != load.result, !context.varies(load.load) {
                    context.fail(
                        "'\(load.load.url)', offered \(offer.phrase), gave \(result.phrase), but \(load.result.phrase) without it, or "
                            + "different bytes")
                }
            }
        }
    }
}

extension RecordedCall {
    /// Whether the origin, and not a proxy, requests a password or a certificate.
    fileprivate var requestsCredentialOfOrigin: Bool {
        guard case .challenge(let challenge) = call, let challenge = challenge.value else { return false }
        return challenge.method != PORTOLAN_ASK_SERVER_TRUST.rawValue && !challenge.isProxy
    }
}

extension ReadResponse {
    /// Whether Cache-Control says who can store the response: only the cache of one user (`private`), no cache
    /// (`no-store`), or also a shared cache, although the source asks for a credential (`public`, `must-revalidate`,
    /// `s-maxage`; RFC 9111 section 3.5).
    fileprivate var saysWhoCanStoreIt: Bool {
        let values = (fields ?? []).filter { $0.name.text?.lowercased() == "cache-control" }.compactMap(\.value.text)
        return values.joined(separator: ",").split(separator: ",").contains { directive in
            let text = directive.filter { $0 != " " && $0 != "\t" }.lowercased()
            return ["private", "no-store", "public", "must-revalidate"].contains(text) || text.hasPrefix("s-maxage=")
        }
    }
}
