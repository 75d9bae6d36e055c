// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan

/// What happens during a load, for those who tell of it. Body bytes go another way, because they are lent.
enum LoadEvent: Sendable {
    /// - Parameter handler: who takes the request; `nil` where nobody does.
    case started(Request, handler: String?)
    case redirected(to: Request, Response)
    case challenged(ProtectionSpace, failures: Int, PasswordAnswer.Verdict)
    case interim(Response)
    case response(Response)
    case trailers(HTTPFields)
    case sent(LoadProgress)
    case step(LoadStep)
    case finished(LoadTotals)
    case failed(Failure)
}

/// What a load amounted to.
struct LoadTotals: Equatable, Sendable {
    var bytes: Int64 = 0
    var redirects = 0
}

/// Tells of a load while it runs. Calls are serial.
protocol LoadObserver: AnyObject, Sendable {
    /// - Parameter time: since the load's start.
    func observe(_ event: LoadEvent, at time: Duration) throws(Failure)
    func observe(body bytes: borrowing RawSpan, of progress: LoadProgress, at time: Duration) throws(Failure)
}

extension LoadObserver {
    func observe(body bytes: borrowing RawSpan, of progress: LoadProgress, at time: Duration) throws(Failure) {}
}
