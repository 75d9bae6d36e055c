// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins

/// ORDER: which events occur, and in which order.
extension RuleCatalogue {
    static let order: [CheckedRule] = [
        .must(
            "ORDER-01", level: 2, isEnforced: true, needs: .any,
            "The response comes before data, trailers and did_finish.",
            because: "The response tells callers what the bytes are.",
            remedy: "Call did_receive_response first, also for an empty body.",
            check: eachLoad(beside: [.large, .pauses, .otherEnds(withStops: false)]) { record in
                guard let first = record.delivered.first(where: { $0.isResponse || $0.isConfirmation || $0.isBodyOrFinish }),
                    first.isBodyOrFinish
                else { return [] }
                return ["\(first.call.function) came before any response"]
            }),
        .must(
            "ORDER-02", level: 2, isEnforced: true, needs: .any,
            "A load has exactly one end: did_finish, did_fail, or a redirect that was taken.",
            because: "Without an end, a caller waits forever. With two, the caller is called after its memory is freed.",
            remedy: "Return immediately after each end, and make sure that each path has one.",
            check: eachLoad(beside: [.large, .pauses, .head, .otherEnds(withStops: false)]) { record in
                let ends = record.ends.filter { $0.within != .destroy && $0.within != .make }
                // ORDER-04 reports events after a followed redirect.
                let endCount = ends.prefix { !$0.isFollowedRedirect }.count + (ends.contains(where: \.isFollowedRedirect) ? 1 : 0)
                if endCount > 1 { return ["it ended \(endCount) times: \(ends.map(\.call.function).joined(separator: ", "))"] }
                return endCount == 0 && record.isMade && record.isIdle ? ["it returned without an end, although it was not stopped"] : []
            }),
        .must(
            "ORDER-03", level: 2, isEnforced: true, needs: .any,
            "No event comes after the end of a load.",
            because: "The caller may have freed the object that receives events.",
            remedy: "Return after did_finish and did_fail.",
            check: eachLoad(beside: [.large, .pauses, .otherEnds(withStops: false)]) { record in
                guard let endIndex = record.calls.firstIndex(where: { $0.call == .finish || $0.isFailure }) else { return [] }
                let after = record.calls[(endIndex + 1)...].filter {
                    $0.call.isEvent && $0.call != .finish && !$0.isFailure && $0.within != .destroy
                }
                return after.first.map { ["\($0.call.function) came after \(record.calls[endIndex].call.function)"] } ?? []
            }),
        .must(
            "ORDER-04", level: 2, isEnforced: true, needs: .redirects,
            "No event comes after a redirect that was taken. After one that was not taken, the response and its body come.",
            because: "The next load has already begun, or the caller wants to see the redirect itself.",
            remedy: "Check what was_redirected returns."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.redirects) { load, request, instance throws(CheckSkipped) in
                var script = CheckContext.script(for: load)
                let followedRecord = try context.perform(request, of: instance, script)
                let redirectIndex = try followedRecord.redirectIndex(load)
                if let lateEvent = followedRecord.calls[(redirectIndex + 1)...].first(where: { $0.call.isEvent && $0.within != .destroy }) {
                    context.fail("'\(load.url)': \(lateEvent.call.function) came after a redirect that was taken")
                }
                script.followsRedirects = false
                let unfollowedRecord = try context.perform(request, of: instance, script)
                let rest = unfollowedRecord.calls[try unfollowedRecord.redirectIndex(load)...]
                if !rest.contains(where: { $0.isResponse || $0.isFailure }) {
                    context.fail("'\(load.url)': after a redirect that was not taken, neither its response nor a failure came")
                }
            }
        },
        .must(
            "ORDER-05", level: 3, isEnforced: true, needs: .any,
            "Events of one load never overlap.",
            because: "Callers hold no lock while they receive events.",
            remedy: "Call the client only from inside a call of the host into this load."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            for load in try context.loads(.any) {
                var script = CheckContext.script(for: load)
                // Delays the return of the call, so that another call can overlap it.
                script.whileDelivering = { index, _ in if index < 6 { Polling.sleep(.milliseconds(index < 2 ? 30 : 2)) } }
                let record = try context.perform(context.request(load.url), of: instance, script)
                guard let second = record.events.first(where: { $0.overlapCount > 0 }) else { continue }
                context.fail("'\(load.url)': \(second.call.function) was called while another call of the client ran")
            }
            instance.end()
        },
        .must(
            "ORDER-06", level: 3, isEnforced: true, needs: .any,
            "can_init, canonical_request, make and destroy emit no event.",
            because: "Callers expect no event there, and their memory may already be freed.",
            remedy: "Report events from run, or from start, resume, woken and answered.",
            check: eachLoad(beside: [.pauses, .otherEnds(withStops: true)]) { record in
                record.events.compactMap { event in
                    guard let function = event.within, [.make, .destroy, .canInit, .canonicalRequest].contains(function) else { return nil }
                    return "\(event.call.function) was called from within \(function.rawValue)"
                }
            }),
        .must(
            "ORDER-07", level: 3, needs: .succeeds,
            "The caller can stop a load from within each kind of event.",
            because: "Callers most often stop a load because of an event.",
            remedy: "Check what each client call returns, and return on PORTOLAN_STOPPED."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            for load in try context.loads(.any).prefix(8) {
                let request = try context.request(load.url)
                let allEvents = try context.perform(request, of: instance, CheckContext.script(for: load)).events
                var seenFunctions: Set<String> = []
                for (index, event) in allEvents.enumerated() where seenFunctions.insert(event.call.function).inserted {
                    var script = CheckContext.script(for: load)
                    script.stopEventIndex = index
                    if try context.recordOfStoppedLoad(request, of: instance, by: script) == nil {
                        return context.fail("'\(load.url)' was still running after it was stopped from within \(event.call.function)")
                    }
                }
            }
            instance.end()
        },
        .must(
            "ORDER-08", level: 2, isEnforced: true, needs: .any,
            "A second response comes only if the handler sets PORTOLAN_MULTIPART.",
            because: "Callers that expect one response would join the two bodies.",
            remedy: "Set the flag, or send one response."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            for load in try context.loads(.any) {
                let request = try context.request(load.url)
                guard let handler = try context.handler(for: request, of: instance), !handler.description.isMultipart else { continue }
                let count = try context.perform(request, of: instance, CheckContext.script(for: load)).responses.count
                if count > 1 { context.fail("'\(load.url)' had \(count) responses, but its handler does not set PORTOLAN_MULTIPART") }
            }
            instance.end()
        },
        .must(
            "ORDER-09", level: 2, isEnforced: true, needs: .uploads,
            "The total in did_send never decreases, and never exceeds the length of the body.",
            because: "Otherwise progress bars run backwards.",
            remedy: "Pass the total number of sent bytes, not the size of the last piece."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.uploads) { load, _, instance throws(CheckSkipped) in
                // The pieces shrink and then grow, so that the numbers decrease if they are the sizes of single pieces.
                let pieces = CheckContext.pieces.reversed() + CheckContext.pieces
                let length = 2 * CheckContext.length
                let (request, script) = try context.upload(load, pieces, length: length)
                var (last, hasReportedProgress) = (Int64(0), false)
                for call in try context.perform(request, of: instance, script).calls {
                    if call.call == .rewind { last = 0 }
                    guard case .sent(let total) = call.call else { continue }
                    hasReportedProgress = true
                    if total < last { context.fail("'\(load.url)': did_send reported \(total) after \(last)") }
                    if total > length { context.fail("'\(load.url)': did_send reported \(total) of a body of \(length) bytes") }
                    last = total
                }
                if !hasReportedProgress { throw CheckSkipped.notApplicable("'\(load.url)' never calls did_send") }
            }
        },
        .must(
            "ORDER-10", level: 2, isEnforced: true, needs: .any,
            "The load calls cached_response_is_valid only if make received a stored response.",
            because: "Without a stored response, the host has nothing to deliver.",
            remedy: "Check whether the stored response in make is NULL.",
            check: eachLoad(beside: [.fields, .policies]) { record in
                record.calls.contains(where: \.isConfirmation) ? ["it confirmed a stored response, but none was offered"] : []
            }),
        .must(
            "ORDER-11", level: 2, isEnforced: true, needs: .fails,
            "A failure has an error.",
            because: "Callers branch on its code, and users read its message.",
            remedy: "Pass a portolan_error with a code and a message to did_fail.",
            check: eachLoad { record in
                if record.failure == .missing { return ["it failed without an error"] }
                return record.refusal == nil && !record.isMade ? ["make returned no load, and gave no error"] : []
            }),
        .must(
            "ORDER-12", level: 3, needs: .any,
            "The load calls no function of the client after destroy has returned.",
            because: "The client's memory is freed by then.",
            remedy: "In destroy, join the threads that call wake."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            let loads = try context.loads(.any)
            var probedLoads: [(ConformanceLoad, ProbedLoad)] = []
            for load in loads {
                for stopEventIndex in [nil, 0, 1] {
                    var script = CheckContext.script(for: load)
                    script.stopEventIndex = stopEventIndex
                    let probedLoad = try context.make(context.request(load.url), of: instance, script)
                    try probedLoad.start()
                    guard probedLoad.waitUntilIdle(context.loadTimeLimit) else { throw CheckSkipped("'\(load.url)' did not end (LIFE-02)") }
                    probedLoad.destroy()
                    probedLoads.append((load, probedLoad))
                }
            }
            Polling.sleep(.milliseconds(100))
            for (load, probedLoad) in probedLoads {
                for call in probedLoad.record.calls where call.stage == .destroyed {
                    context.fail("'\(load.url)': \(call.call.function) was called after destroy had returned")
                }
            }
            instance.end()
        },
        .must(
            "ORDER-13", level: 2, isEnforced: true, needs: .any,
            "Interim responses come before the response and have a status from 100 to 199. Trailers come once, after the body.",
            because: "Otherwise both seem to belong to another response.",
            remedy: "Follow the order in client.h.",
            check: eachLoad(beside: [.large, .pauses]) { record in
                var findings: [String] = []
                var (hasResponse, hasTrailers) = (false, false)
                for call in record.delivered {
                    switch call.call {
                    case .interim(let response):
                        if hasResponse { findings.append("an interim response came after the response") }
                        if let status = response.value?.status, !(100...199).contains(status) {
                            findings.append("an interim response has the status \(status)")
                        }
                    case .response(let response):
                        hasResponse = true
                        if let status = response.value?.status, status != 0, !(200...999).contains(status) {
                            findings.append("the response has the status \(status)")
                        }
                    case .trailers:
                        if hasTrailers { findings.append("trailers came twice") }
                        hasTrailers = true
                    case .data: if hasTrailers { findings.append("data came after the trailers") }
                    default: break
                    }
                }
                return findings
            }),
    ]

    /// Loads that a check performs in addition to the loads that the manifest describes.
    enum AdditionalLoads: Sendable {
        /// Loads with large bodies.
        case large
        /// The same loads with a pause at each delivery.
        case pauses
        /// The same loads with the method HEAD.
        case head
        /// Loads whose challenges and redirects get unusual decisions (``CheckContext/eachUnusualEnd(withStops:_:)``).
        case otherEnds(withStops: Bool)
        /// The same loads with request fields.
        case fields
        /// The same loads with each cache policy.
        case policies
        /// Loads of the same URLs with control characters or bytes that are not UTF-8 at the end of the URL.
        case marks
    }

    /// Returns a check that examines the record of each load that ends.
    ///
    /// - Parameter look: Returns the findings about a record.
    static func eachLoad(
        _ scenario: ConformanceRule.Scenario = .any, beside: [AdditionalLoads] = [],
        _ look: @escaping @Sendable (LoadRecord) -> [String]
    ) -> ConformanceCheck.Body {
        { context throws(CheckSkipped) in
            func addFindings(_ load: ConformanceLoad, _ record: LoadRecord) { context.fail(look(record).map { "'\(load.url)': \($0)" }) }
            var skipReason: CheckSkipped?
            do throws(CheckSkipped) {
                try context.eachRecord(scenario, addFindings)
            } catch {
                skipReason = error
            }
            // `try?` because the additional loads do not affect the result of the main loads.
            for additionalLoads in beside {
                switch additionalLoads {
                case .large: try? context.eachRecord(.large, addFindings)
                case .pauses: try? context.eachVariant(of: scenario, pausing: true, addFindings)
                case .head: try? context.eachHead(of: scenario, addFindings)
                case .otherEnds(let withStops): try? context.eachUnusualEnd(withStops: withStops, addFindings)
                case .fields: try? context.eachVariant(of: scenario, fields: fields, addFindings)
                case .policies: try? context.eachVariant(of: scenario, policies: CachePolicy.allCases, addFindings)
                case .marks: try? context.eachVariant(of: scenario, marks: marks, addFindings)
                }
            }
            if let skipReason, context.findings.isEmpty { throw skipReason }
        }
    }

    private static let marks = ["%1B%5B31m", "%FF", "%C2%85", "%0A"]

    /// Common request fields.
    private static let fields: HTTPFields = [
        .accept: "text/plain, */*;q=0.5", .range: "bytes=0-1", .acceptLanguage: "en", .ifNoneMatch: "\"judge\"",
    ]
}
