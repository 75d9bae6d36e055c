// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan

/// An event of a load, for observers. Body bytes use a separate method, because they are borrowed.
enum LoadEvent: Sendable {
    /// - Parameter handler: the handler that takes the request; `nil` if none does.
    case started(Request, handler: String?)
    case redirected(to: Request, Response)
    /// - Parameter isTrusted: for a server-trust challenge, whether default handling trusts the server.
    case challenged(ProtectionSpace, failures: Int, isTrusted: Bool, PasswordAnswer.Verdict)
    /// - Parameter handler: the handler that takes the nested request.
    case innerBegan(InnerReport, handler: String?)
    case innerEnded(InnerReport, bytes: Int64, LoadError?)
    case interim(Response)
    case response(Response)
    case trailers(HTTPFields)
    case sent(LoadProgress)
    case step(LoadStep)
    /// The event before the last one, if the load used the network.
    ///
    /// - Parameter since: when the measured try started, relative to the start of the load.
    case metrics(LoadMetrics, since: Duration)
    case finished(LoadTotals)
    case failed(Failure)
    /// Replaces ``failed(_:)`` if another try follows after a delay.
    ///
    /// - Parameter rest: the number of tries left, including the next one.
    case retrying(Failure, after: Duration, rest: Int)
}

/// A load nested in the reported one.
struct InnerReport: Equatable, Sendable {
    var url: URLRecord
    let method: HTTPRequest.Method
    /// 1: nested directly in the load; 2: nested in such a load; and so on.
    let depth: Int
}

extension InnerReport {
    init(_ task: LoadTask) {
        self.init(url: task.originalRequest.url, method: task.originalRequest.method, depth: task.nestingDepth)
    }
}

/// Totals of a load.
struct LoadTotals: Equatable, Sendable {
    var bytes: Int64 = 0
    var redirects = 0
}

/// Reports a load while it runs. Calls are serial.
protocol LoadObserver: AnyObject, Sendable {
    /// - Parameter time: the time since the start of the load's first try.
    func observe(_ event: LoadEvent, at time: Duration) throws(Failure)
    func observe(body bytes: borrowing RawSpan, of progress: LoadProgress, at time: Duration) throws(Failure)
}

extension LoadObserver {
    func observe(body bytes: borrowing RawSpan, of progress: LoadProgress, at time: Duration) throws(Failure) {}
}
