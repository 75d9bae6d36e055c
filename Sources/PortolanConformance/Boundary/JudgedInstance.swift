// SPDX-License-Identifier: Apache-2.0

import CPortolan
import CThreadTrace
import PortolanCore
import PortolanPlugins
import Synchronization

/// An instance of a plugin that the judge started.
@safe
final class JudgedInstance: @unchecked Sendable {  // … because what it holds stays to its end, and the state is the plugin's own to guard
    let plugin: DescribedPlugin
    let host: JudgeHost
    let bench: Bench
    var journal: Journal { bench.journal }
    /// How it is lent memory.
    var lending: Lending { host.lending }
    private(set) var state: UnsafeMutableRawPointer?

    /// How a start ended.
    enum Start {
        case started(JudgedInstance)
        /// What was given to the refusal, one for each time.
        case refused([Given<GivenError>])
    }

    /// What a plugin that breaks the contract may still look at: it lives as long as the instance is judged, unless that is limited.
    private let kept = Mutex<(objects: [any Sendable], limit: Int?)>(([], nil))
    /// All that were ended stay: what a plugin does to one afterwards is REG-07's and LIFE-08's to judge, and no other's to crash on.
    private static let ended = Mutex<[JudgedInstance]>([])

    private init(_ plugin: DescribedPlugin, _ host: JudgeHost, _ bench: Bench, _ state: UnsafeMutableRawPointer?) {
        (self.plugin, self.host, self.bench) = (plugin, host, bench)
        unsafe self.state = unsafe state
        bench.open.begin()
    }

    static func start(
        _ plugin: DescribedPlugin, _ configuration: PluginConfiguration, offering extensions: Set<String> = JudgeHost.allExtensions,
        _ lending: Lending = .freely, on bench: Bench
    ) throws(Unjudged) -> Start {
        let host = try JudgeHost(configuration, offering: extensions, lending, journal: bench.journal)
        if let state = unsafe plugin.standingState { return unsafe .started(JudgedInstance(plugin, host, bench, state)) }
        guard let function = unsafe plugin.functions.`init` else { return unsafe .started(JudgedInstance(plugin, host, bench, nil)) }
        var state: UnsafeMutableRawPointer?
        let refusals = try bench.journal.entering("init") { () throws(Unjudged) in
            try unsafe JudgedRefusal.collect(lending) { unsafe state = function(host.table.pointer, $0) }
        }
        guard refusals.isEmpty else {
            host.end()
            return .refused(refusals)
        }
        return unsafe .started(JudgedInstance(plugin, host, bench, state))
    }

    func keep(_ object: any Sendable) {
        let last = kept.withLock { kept -> (any Sendable)? in
            kept.objects.append(object)
            guard let limit = kept.limit, kept.objects.count > limit else { return nil }
            return kept.objects.removeFirst()
        }
        // Outside of the lock: it may be a load.
        withExtendedLifetime(last) {}
    }

    /// Keeps all from now on.
    ///
    /// - Returns: how many there are, for ``keepFew(since:)``.
    func keepAll() -> Int {
        kept.withLock { kept in
            kept.limit = nil
            return kept.objects.count
        }
    }

    /// Lets go of what was kept before `count`, and keeps no more than there are now, and the last ones, from now on, so that the judge's own memory
    /// does not grow with the number of loads.
    func keepFew(since count: Int) {
        let old = kept.withLock { kept in
            defer {
                kept.objects.removeFirst(min(count, kept.objects.count))
                kept.limit = max(64, kept.objects.count)
            }
            return kept.objects.prefix(count)
        }
        // Outside of the lock: they may be loads.
        withExtendedLifetime(old) {}
    }

    /// Notes which of its const arguments the plugin has written to.
    func noteChanges() {
        let objects = kept.withLock(\.objects) + [host]
        for object in objects { if let what = (object as? any LentAsConst)?.changed { bench.changes.note(what) } }
    }

    func end() {
        journal.entering("deinit") { unsafe plugin.functions.deinit?(state) }
        // What the plugin has not freed by now, nothing leads to (MEM-04).
        unsafe state = nil
        bench.open.end()
        host.end()
        if lending == .readOnly { noteChanges() }
        Self.ended.withLock { $0.append(self) }
    }
}

/// What a function gives to the `portolan_refusal` that it is lent.
final class JudgedRefusal {
    private var given: [Given<GivenError>] = []

    /// Calls `body` with a refusal to give to.
    static func collect(_ lending: Lending = .freely, _ body: (UnsafeMutablePointer<portolan_refusal>) -> Void) throws(Unjudged) -> [Given<
        GivenError
    >] {
        let refusal = JudgedRefusal()
        let table = try unsafe GuardedTable(
            lending,
            portolan_refusal(size: UInt32(MemoryLayout<portolan_refusal>.size), reserved: 0) { table, error in
                unsafe GuardedTable.object(of: table, as: JudgedRefusal.self).given.append(Given(error.orNil, GivenError.init))
            })
        table.serve(refusal)
        unsafe body(table.pointer)
        return withExtendedLifetime((refusal, table)) { refusal.given }
    }
}
