// SPDX-License-Identifier: Apache-2.0

/// http: bodies of 1 KiB over connections that are kept: what a load costs, in each of the caller's forms.
enum HTTPRows {
    private static let size = 1 << 10
    /// How often a run loads it: those who need long for it do so less often.
    private static let (often, seldom, rarely) = (20_000, 5_000, 500)

    /// The delegate form; the next load is started from the end of the last.
    static func get(_ workshop: Workshop) throws -> Row {
        let target = try workshop.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: often),
            peers: [
                try LibCurl.contender(loading: target.url, times: often, amount: often),
                try AsyncHTTPClientPeer.chained(target, times: seldom),
                try URLSessionPeer.chained(target, times: rarely, inFlight: 1),
                try SocketLoop.contender(target, times: often, amount: often),
            ],
            budget: .atMost(0.7, of: LibCurl.name, over: SocketLoop.name))
    }

    /// The blocking form.
    static func blocking(_ workshop: Workshop) throws -> Row {
        let target = try workshop.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.blocking(target, times: often),
            peers: [
                try LibCurl.contender(loading: target.url, times: often, amount: often),
                try SocketLoop.contender(target, times: often, amount: often),
            ],
            budget: .atMost(1, of: LibCurl.name, over: SocketLoop.name))
    }

    /// The asynchronous form.
    static func awaited(_ workshop: Workshop) throws -> Row {
        let target = try workshop.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.awaited(target, times: often),
            peers: [
                try LibCurl.contender(loading: target.url, times: often, amount: often),
                AsyncHTTPClientPeer.awaited(target, times: seldom),
                try AsyncHTTPClientPeer.awaitedFuture(target, times: seldom),
                URLSessionPeer.contender(loading: target.url, times: rarely, amount: rarely),
                try SocketLoop.contender(target, times: often, amount: often),
            ],
            budget: .atMost(0.5, of: AsyncHTTPClientPeer.name).and(.atMost(0.2, of: URLSessionPeer.name)))
    }

    /// 64 at a time, in the delegate form.
    static func crowd(_ workshop: Workshop) throws -> Row {
        let target = try workshop.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: often, inFlight: 64),
            peers: [
                try LibCurlMulti.contender(loading: target.url, times: often, inFlight: 64, amount: often),
                try LibCurlMulti.contender(loading: target.url, times: often, inFlight: 64, amount: often, polls: true),
                try AsyncHTTPClientPeer.chained(target, times: seldom, inFlight: 64),
                try URLSessionPeer.chained(target, times: rarely, inFlight: 64),
                try SocketLoop.contender(target, times: often, inFlight: 64, amount: often),
            ],
            budget: .atMost(0.8, of: LibCurlMulti.name).and(.atMost(0.8, of: LibCurlMulti.nameOfPolling)))
    }

    /// 64 tasks, each of which awaits one load after another.
    static func awaitedCrowd(_ workshop: Workshop) throws -> Row {
        let target = try workshop.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.awaited(target, times: often, inFlight: 64),
            peers: [
                try LibCurlMulti.contender(loading: target.url, times: often, inFlight: 64, amount: often),
                try LibCurlMulti.contender(loading: target.url, times: often, inFlight: 64, amount: often, polls: true),
                AsyncHTTPClientPeer.awaited(target, times: seldom, inFlight: 64),
                try SocketLoop.contender(target, times: often, inFlight: 64, amount: often),
            ],
            budget: .atMost(1.2, of: LibCurlMulti.name).and(.atMost(1.2, of: LibCurlMulti.nameOfPolling)))
    }
}
