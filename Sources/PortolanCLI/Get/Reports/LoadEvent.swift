// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan

/// An event of a load, for observers. Body bytes use a separate method, because they are borrowed.
enum LoadEvent: Sendable {
    /// - Parameter handler: the identifier of the handler that loads the request; `nil` if there is none.
    case started(Request, handler: String?)
    case redirected(to: Request, Response)
    /// - Parameters:
    ///   - isTrusted: for a server-trust challenge, whether default handling trusts the server.
    ///   - source: where the credentials of the answer come from; `nil` if this is not reported.
    case challenged(ProtectionSpace, failures: Int, isTrusted: Bool, ChallengeResponder.Decision, source: String? = nil)
    /// - Parameter handler: the identifier of the handler that loads the nested request; `nil` if there is none.
    case nestedLoadBegan(NestedLoadReport, handler: String?)
    case nestedLoadEnded(NestedLoadReport, bytes: Int64, LoadError?)
    case interim(Response)
    case response(Response)
    /// Precedes the response or the redirect that it is about.
    case cache(CacheReport)
    case trailers(HTTPFields)
    case sent(LoadProgress)
    case step(LoadStep)
    /// Precedes ``finished(_:)`` or ``failed(_:)``, if the load used the network.
    ///
    /// - Parameter since: when the measured attempt started, relative to the start of the first attempt.
    case metrics(LoadMetrics, since: Duration)
    case finished(LoadTotals)
    case failed(Failure)
    /// Replaces ``failed(_:)`` if another attempt follows after a delay.
    ///
    /// - Parameter attemptsLeft: the number of attempts that can follow, including the next one.
    case retrying(Failure, after: Duration, attemptsLeft: Int)
}

/// A load that the handler of the reported load has started.
struct NestedLoadReport: Equatable, Sendable {
    var url: URLRecord
    let method: HTTPRequest.Method
    /// 1 for a load that is nested directly in the reported load, 2 for a load nested in that one, and so on.
    let depth: Int
}

extension NestedLoadReport {
    init(_ task: LoadTask) {
        self.init(url: task.originalRequest.url, method: task.originalRequest.method, depth: task.nestingDepth)
    }
}

/// The number of received body bytes and the number of redirects of a load.
struct LoadTotals: Equatable, Sendable {
    var bytes: Int64 = 0
    var redirects = 0
}

/// Reports a load while it runs. Calls are serial.
protocol LoadObserver: AnyObject, Sendable {
    /// - Parameter time: the time since the start of the first attempt.
    /// - Throws: ``Failure`` to end the load.
    func observe(_ event: LoadEvent, at time: Duration) throws(Failure)
    func observe(body bytes: borrowing RawSpan, of progress: LoadProgress, at time: Duration) throws(Failure)
    /// Reports the head of each HTTP response that was received, in order: of interim responses, of redirects, of
    /// challenges, and of the last response.
    func observe(head: ReceivedHead) throws(Failure)
}

extension LoadObserver {
    func observe(body bytes: borrowing RawSpan, of progress: LoadProgress, at time: Duration) throws(Failure) {}
    func observe(head: ReceivedHead) throws(Failure) {}
}
