// SPDX-License-Identifier: Apache-2.0

import CPortolan
import CPluginObservation
import PortolanCore
import PortolanPlugins
import Synchronization

/// An instance of a plugin that the runner started.
@safe
final class ProbedInstance: @unchecked Sendable {  // … because only `end()` changes it, and the plugin guards its own state
    let plugin: DescribedPlugin
    let host: TestHost
    let instanceContext: InstanceContext
    var callLog: CallLog { instanceContext.callLog }
    /// How the plugin borrows memory.
    var argumentMemory: ArgumentMemory { host.argumentMemory }
    private(set) var state: UnsafeMutableRawPointer?

    /// The outcome of a start.
    enum Start {
        case started(ProbedInstance)
        /// The errors that were given to the refusal, one element per call.
        case refused([ReadStruct<ReadError>])
    }

    /// Objects that a plugin that breaks the contract can still read. They live as long as the instance, unless `limit`
    /// is set.
    private let kept = Mutex<(objects: [any Sendable], limit: Int?)>(([], nil))
    /// All ended instances stay alive. REG-07 and LIFE-08 report later uses, and no other check crashes because of
    /// them.
    private static let endedInstances = Mutex<[ProbedInstance]>([])

    private init(_ plugin: DescribedPlugin, _ host: TestHost, _ instanceContext: InstanceContext, _ state: UnsafeMutableRawPointer?) {
        (self.plugin, self.host, self.instanceContext) = (plugin, host, instanceContext)
        unsafe self.state = unsafe state
        instanceContext.openCount.begin()
    }

    static func start(
        _ plugin: DescribedPlugin, _ configuration: PluginConfiguration, offering extensions: Set<String> = TestHost.allExtensions,
        _ argumentMemory: ArgumentMemory = .freely, on instanceContext: InstanceContext
    ) throws(CheckSkipped) -> Start {
        try instanceContext.steps.require(.initialize, .deinitialize)
        let host = try TestHost(configuration, offering: extensions, argumentMemory, callLog: instanceContext.callLog)
        if let state = unsafe plugin.instanceState { return unsafe .started(ProbedInstance(plugin, host, instanceContext, state)) }
        guard let function = unsafe plugin.functions.`init` else {
            return unsafe .started(ProbedInstance(plugin, host, instanceContext, nil))
        }
        var state: UnsafeMutableRawPointer?
        let refusals = try instanceContext.callLog.entering("init") { () throws(CheckSkipped) in
            try unsafe ProbedRefusal.collect(argumentMemory) { unsafe state = function(host.table.pointer, $0) }
        }
        guard refusals.isEmpty else {
            host.end()
            return .refused(refusals)
        }
        return unsafe .started(ProbedInstance(plugin, host, instanceContext, state))
    }

    func keep(_ object: any Sendable) {
        let last = kept.withLock { kept -> (any Sendable)? in
            kept.objects.append(object)
            guard let limit = kept.limit, kept.objects.count > limit else { return nil }
            return kept.objects.removeFirst()
        }
        // Outside of the lock, because the object can be a load.
        withExtendedLifetime(last) {}
    }

    /// Retains all objects from now on.
    ///
    /// - Returns: The number of objects, for ``keepFew(since:)``.
    func keepAll() -> Int {
        kept.withLock { kept in
            kept.limit = nil
            return kept.objects.count
        }
    }

    /// Releases the first `count` objects. From now on, retains only the newest objects: as many as remain, but at
    /// least 64. So the runner's own memory does not grow with the number of loads.
    func keepFew(since count: Int) {
        host.recordOnlyLateCalls()
        let old = kept.withLock { kept in
            defer {
                kept.objects.removeFirst(min(count, kept.objects.count))
                kept.limit = max(64, kept.objects.count)
            }
            return kept.objects.prefix(count)
        }
        // Outside of the lock, because the objects can be loads.
        withExtendedLifetime(old) {}
    }

    /// Records which of its const arguments the plugin has written to.
    func recordConstViolations() {
        let objects = kept.withLock(\.objects) + [host]
        for object in objects {
            if let argument = (object as? any ConstArgument)?.changedArgument { instanceContext.constViolations.add(argument) }
        }
    }

    func end() {
        callLog.entering("deinit") { unsafe plugin.functions.deinit?(state) }
        // The pointer is removed, so that Valgrind reports state that the plugin has not freed (MEM-04).
        unsafe state = nil
        instanceContext.openCount.end()
        host.end()
        if argumentMemory == .readOnly { recordConstViolations() }
        Self.endedInstances.withLock { $0.append(self) }
    }
}

/// Collects the errors that a plugin's function gives to a `portolan_refusal`.
final class ProbedRefusal {
    private var errors: [ReadStruct<ReadError>] = []

    /// Calls `callPlugin` with a refusal, and returns the errors that the refusal received.
    static func collect(_ argumentMemory: ArgumentMemory = .freely, _ callPlugin: (UnsafeMutablePointer<portolan_refusal>) -> Void)
        throws(CheckSkipped) -> [ReadStruct<
            ReadError
        >]
    {
        let refusal = ProbedRefusal()
        let table = try unsafe GuardedTable(
            argumentMemory,
            portolan_refusal(size: UInt32(MemoryLayout<portolan_refusal>.size), reserved: 0) { table, error in
                unsafe GuardedTable.object(of: table, as: ProbedRefusal.self).errors.append(ReadStruct(error.orNil, ReadError.init))
            })
        table.serve(refusal)
        unsafe callPlugin(table.pointer)
        return withExtendedLifetime((refusal, table)) { refusal.errors }
    }
}
