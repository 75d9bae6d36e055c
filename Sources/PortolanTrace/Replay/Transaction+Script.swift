// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

extension Transaction {
    /// Returns the events for a client, each with its time since the request.
    ///
    /// A redirect comes before its response. If the recording is incomplete, the load fails at its end with
    /// ``LoadError/Code/truncated``.
    func script(for request: Request) -> [(event: ScriptedLoad.Event, time: Duration)] {
        var script: [(event: ScriptedLoad.Event, time: Duration)] = []
        let lengths = announcedLengths
        var responseCount = 0
        var hasRedirect = false
        for moment in moments {
            switch moment.event {
            case .interim(let response): script.append((.interim(response), moment.time))
            case .redirect(let url, let response):
                script.append((.redirect(to: request.redirected(to: url, status: response.status), response), moment.time))
                hasRedirect = true
            case .response(var response):
                if response.url.isSameResource(as: url) { response.url = request.url.withoutCredentials }
                if !hasRedirect, let next = request.redirected(by: response) { script.append((.redirect(to: next, response), moment.time)) }
                if let length = response.expectedLength, length != lengths[responseCount], request.method != .head {
                    response.expectedLength = nil
                }
                responseCount += 1
                script.append((.response(response), moment.time))
            case .data(let recordedBytes, _): if !recordedBytes.isEmpty { script.append((.data(recordedBytes), moment.time)) }
            case .trailers(let fields): script.append((.trailers(fields), moment.time))
            case .finished where incompleteness == nil: script.append((.finish, moment.time))
            case .failed(let error): script.append((.failure(error), moment.time))
            case .finished, .interrupted: script.append((.failure(incompleteError), moment.time))
            }
        }
        if case .redirect(_, var response)? = moments.last?.event {
            // The response is for a client that does not follow the redirect. The response's body was not recorded.
            response.expectedLength = nil
            script += [(.response(response), end), (.finish, end)]
        }
        return script
    }

    private var incompleteError: LoadError {
        LoadError(
            .truncated,
            message: "the recording of \(url.shortDescription) is incomplete: \(incompleteness ?? "its end is missing"); record it again")
    }

    /// The expected length of each response if it agrees with the recorded body, otherwise `nil`. If a failure follows,
    /// the expected length can also be larger than the body.
    private var announcedLengths: [Int64?] {
        var lengths: [Int64?] = []
        var announced: Int64?
        var count: Int64 = 0
        func validLength(isComplete: Bool) -> Int64? {
            announced.map { $0 == count || (!isComplete && $0 > count) } == true ? announced : nil
        }
        for moment in moments {
            switch moment.event {
            case .response(let response):
                if !lengths.isEmpty { lengths[lengths.count - 1] = validLength(isComplete: true) }
                lengths.append(nil)
                (announced, count) = (response.expectedLength, 0)
            case .data(let recordedBytes, _): count += Int64(recordedBytes.count)
            case .interim, .redirect, .trailers, .finished, .failed, .interrupted: break
            }
        }
        if !lengths.isEmpty {
            let isComplete = if case .finished? = moments.last?.event { incompleteness == nil } else { false }
            lengths[lengths.count - 1] = validLength(isComplete: isComplete)
        }
        return lengths
    }
}

extension URLRecord {
    fileprivate func isSameResource(as other: URLRecord) -> Bool { withoutFragment.description == other.withoutFragment.description }
}
