// SPDX-License-Identifier: Apache-2.0

/// Large bodies over http:, streamed to a delegate.
enum HTTPBulkRows {
    private static let size = 1 << 30

    /// Processor time for 1 GiB. URLSession has 64 MiB, for it is slow.
    static func processorTime(_ workshop: Workshop) throws -> Row {
        let target = try workshop.target(size)
        let short = try workshop.target(size / 16)
        return Row(
            unit: .secondsPerGigabyte, subject: try PortolanLoads.streamed(target, amount: size),
            peers: try peers(target) + [try URLSessionPeer.streamed(short, amount: short.size)],
            budget: .atMost(1.15, of: SocketLoop.name).and(.atMost(1.1, of: LibCurl.nameOfLarge)))
    }

    /// Memory that is resident at most during 1 GiB, over what is resident after a first small load: each in a process of its own.
    static func memory(_ workshop: Workshop) throws -> Row {
        let (small, large) = (try workshop.target(1 << 10), try workshop.target(size))
        let reports = Gauge.Reports()
        let names = [PortolanLoads.name] + (try peers(large)).map(\.name)
        let contenders = names.map { name in
            Contender(name, amount: 1) { try MemoryReport.ofStarted(name, small, large, into: reports) }
        }
        return Row(
            unit: .mebibytes, gauge: .reports(reports), subject: contenders[0], peers: Array(contenders.dropFirst()),
            budget: .atMost(16, .mebibytes))
    }

    /// The same of 64 loads of 1 GiB that are paused by their readers.
    static func pausedMemory(_ workshop: Workshop) throws -> Row {
        let (small, large) = (try workshop.target(1 << 10), try workshop.target(size))
        let reports = Gauge.Reports()
        let subject = Contender(PortolanLoads.name, amount: 1) {
            try MemoryReport.ofStarted(try pausedLoads(large).name, small, large, into: reports)
        }
        return Row(unit: .mebibytes, gauge: .reports(reports), subject: subject, peers: [], budget: .atMost(128, .mebibytes))
    }

    private static func pausedLoads(_ target: HTTPTarget) throws -> Contender { try PausedLoads.contender(target, count: 64) }

    /// Who streams `target`, or pauses loads of it, by name.
    static func contender(_ name: String, _ target: HTTPTarget) throws -> Contender {
        let all = [try PortolanLoads.streamed(target, amount: target.size), try pausedLoads(target)] + (try peers(target))
        guard let found = all.first(where: { $0.name == name }) else { throw Missing("nobody is called \(name)") }
        return found
    }

    private static func peers(_ target: HTTPTarget) throws -> [Contender] {
        [
            try SocketLoop.contender(target, times: 1, amount: target.size),
            try LibCurl.contender(LibCurl.nameOfLarge, loading: target.url, .largeBuffer, amount: target.size),
            try LibCurl.contender(loading: target.url, amount: target.size),
            try AsyncHTTPClientPeer.streamed(target, amount: target.size),
        ]
    }
}
