// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins

extension LoadRecord {
    /// The events up to the first end, except those that `make` or `destroy` sent.
    var delivered: ArraySlice<RecordedCall> {
        let ownEvents = calls.filter { $0.call.isEvent && $0.within != .make && $0.within != .destroy }
        let endIndex = ownEvents.firstIndex { $0.call == .finish || $0.isFailure || $0.isFollowedRedirect }
        guard let endIndex else { return ownEvents[...] }
        return ownEvents[...endIndex]
    }
}

extension LoadRecord {
    /// The events after a call had returned STOPPED, and the events that `stop` sent.
    var eventsAfterStop: [RecordedCall] {
        let stoppingCall = calls.firstIndex { $0.returnValue == -1 && $0.call.returnsFlow && !$0.isFollowedRedirect }
        let after = stoppingCall.map { calls[($0 + 1)...] } ?? []
        return after.filter { $0.call.isEvent && $0.within != .destroy }
            + calls.filter { $0.call.isEvent && $0.within == .stop }
    }
}

extension LoadRecord {
    /// The index of the call that redirects the load.
    ///
    /// - Throws: If the load was not redirected, although the manifest says so.
    func redirectIndex(_ load: ConformanceLoad) throws(CheckSkipped) -> Int {
        guard let place = calls.firstIndex(where: { if case .redirect = $0.call { true } else { false } }) else {
            throw CheckSkipped("'\(load.url)' is tagged redirects, but was not redirected")
        }
        return place
    }

    /// The targets of the load's redirects, as a host interprets them.
    func redirectTargets(from request: Request) -> [RedirectTarget] {
        calls.compactMap { $0.redirectTarget(from: request) }
    }
}

extension RecordedCall {
    var isChallenge: Bool { if case .challenge = call { true } else { false } }
    var isResponse: Bool { if case .response = call { true } else { false } }
    var isFailure: Bool { if case .failure = call { true } else { false } }
    var isConfirmation: Bool { call == .confirmed }
    var isFollowedRedirect: Bool { if case .redirect = call { returnValue == -1 } else { false } }

    /// The target of a redirect: its URL, or the Location of its response if it has no URL (client.h). `nil` if the
    /// call is no redirect, or cannot be read.
    func redirectTarget(from request: Request) -> RedirectTarget? {
        guard case .redirect(let change, let response) = call, let change = change.value else { return nil }
        guard change.url.bytes == nil else {
            // `try?` because only the validity of the URL matters here.
            let url = change.url.text.flatMap { try? URLRecord(parsing: $0) }
            return url.map(RedirectTarget.url) ?? .malformed("\(change.url.quoted) is not an absolute URL")
        }
        guard let decodedResponse = response.value, (100...599).contains(decodedResponse.status) else { return .noRedirect }
        var fields = HTTPFields()
        for field in decodedResponse.fields ?? [] where field.name.text.flatMap({ HTTPField.Name($0) }) == .location {
            if field.value.isUnreadable { return nil }
            fields.append(HTTPField(name: .location, value: field.value.bytes ?? []))
        }
        // `try?` because BODY-11 reports a URL that does not parse.
        let url = decodedResponse.url.text.flatMap { try? URLRecord(parsing: $0) } ?? request.url
        return RedirectTarget(of: Response(url: url, status: HTTPResponse.Status(code: Int(decodedResponse.status)), fields: fields))
    }

    var isBodyOrFinish: Bool {
        switch call {
        case .data(let count, _, _): count != 0
        case .trailers, .finish: true
        default: false
        }
    }
}
