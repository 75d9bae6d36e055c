// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan

/// What happens during a load, for those who tell of it. Body bytes go another way, because they are lent.
enum LoadEvent: Sendable {
    /// - Parameter handler: who takes the request; `nil` where nobody does.
    case started(Request, handler: String?)
    case redirected(to: Request, Response)
    /// - Parameter isTrusted: of a question about a server's trust: what default handling makes of it.
    case challenged(ProtectionSpace, failures: Int, isTrusted: Bool, PasswordAnswer.Verdict)
    /// - Parameter handler: who takes the inner request.
    case innerBegan(InnerReport, handler: String?)
    case innerEnded(InnerReport, bytes: Int64, LoadError?)
    case interim(Response)
    case response(Response)
    case trailers(HTTPFields)
    case sent(LoadProgress)
    case step(LoadStep)
    /// Comes last but one, where something went over a wire.
    ///
    /// - Parameter since: when the try began that they are of, since the load's start.
    case metrics(LoadMetrics, since: Duration)
    case finished(LoadTotals)
    case failed(Failure)
    /// In place of ``failed(_:)``: another load begins after a while.
    ///
    /// - Parameter rest: how many tries there may be, that one among them.
    case retrying(Failure, after: Duration, rest: Int)
}

/// A load inside the one that is told of.
struct InnerReport: Equatable, Sendable {
    var url: URLRecord
    let method: HTTPRequest.Method
    /// 1: in the load itself; 2: in one inside it; and so on.
    let depth: Int

    init(_ task: LoadTask) {
        (url, method, depth) = (task.originalRequest.url, task.originalRequest.method, task.nestingDepth)
    }
}

/// What a load amounted to.
struct LoadTotals: Equatable, Sendable {
    var bytes: Int64 = 0
    var redirects = 0
}

/// Tells of a load while it runs. Calls are serial.
protocol LoadObserver: AnyObject, Sendable {
    /// - Parameter time: since the load's start, which is that of its first try.
    func observe(_ event: LoadEvent, at time: Duration) throws(Failure)
    func observe(body bytes: borrowing RawSpan, of progress: LoadProgress, at time: Duration) throws(Failure)
}

extension LoadObserver {
    func observe(body bytes: borrowing RawSpan, of progress: LoadProgress, at time: Duration) throws(Failure) {}
}
