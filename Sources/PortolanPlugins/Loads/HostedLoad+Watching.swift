// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// The functions with which an event-driven load watches descriptors and timers.
extension HostedLoad {
    func watch(_ descriptor: Int32, for readiness: Int32) -> Int32 {
        guard let watches = openWatches() else { return PORTOLAN_STOPPED.rawValue }
        let requested = Readiness(rawValue: readiness)
        guard !requested.isEmpty, Readiness.all.isSuperset(of: requested) else {
            return failAndStop(
                ContractViolation(
                    .watchedIsPublished, "a descriptor was watched for \(readiness), which is not a combination of the published bits")
            )
            .rawValue
        }
        return watches.watch(descriptor, for: requested)
    }

    func takeReady(_ descriptor: Int32) -> Int32 {
        openWatches()?.takeReady(descriptor).rawValue ?? 0
    }

    func unwatch(_ descriptor: Int32) {
        openWatches()?.unwatch(descriptor)
    }

    func setTimer(_ timer: Int32, _ delay: Int64) -> Int32 {
        guard let watches = openWatches() else { return PORTOLAN_STOPPED.rawValue }
        guard (0..<Int32(DescriptorWatches.timerLimit)).contains(timer) else {
            return failAndStop(
                ContractViolation(
                    .watchedIsPublished, "timer \(timer) was set; timers are numbered from 0 to \(DescriptorWatches.timerLimit - 1)")
            ).rawValue
        }
        watches.setTimer(timer, delay)
        return 0
    }

    func takeFired(_ timer: Int32) -> Int32 {
        openWatches()?.takeFired(timer) == true ? 1 : 0
    }

    /// Returns the watches, and creates them at the first call. `nil` if the load cannot watch, because the call is a
    /// violation or the load has ended.
    private func openWatches() -> DescriptorWatches? {
        guard isInCall else {
            rejectMisplacedCall()
            return nil
        }
        guard !handler.traits.contains(.blocking) else {
            fail(
                with: ContractViolation(
                    .eventDrivenLoadsWatch, "a blocking load watched a descriptor or a timer; call poll(2) in the load instead"))
            return nil
        }
        guard !isOver else {
            _ = stopped()
            return nil
        }
        if let watches { return watches }
        let newWatches = DescriptorWatches(
            whenReady: { [weak self] in if let self { calls.becameReady(self) } },
            whenClosed: { [weak self] descriptor in
                self?.report(
                    ContractViolation(
                        .watchedStaysOpen, "descriptor \(descriptor) was closed while it was watched; call `unwatch` before close(2)"))
            })
        watches = newWatches
        return newWatches
    }
}

/// The functions of `portolan.watch/1`.
@safe
struct WatchTable: Sendable {
    static let identifier = PORTOLAN_WATCH

    /// Lives as long as the process, because plugins can keep the pointer.
    nonisolated(unsafe) static let pointer: UnsafePointer<portolan_watch_table> = {  // … because it never changes
        let table = UnsafeMutablePointer<portolan_watch_table>.allocate(capacity: 1)
        unsafe table.initialize(
            to: portolan_watch_table(
                size: UInt32(MemoryLayout<portolan_watch_table>.size), reserved: 0,
                watch: { client, descriptor, readiness in unsafe client.withLoad { $0.watch(descriptor, for: readiness) } },
                ready: { client, descriptor in unsafe client.withLoad { $0.takeReady(descriptor) } },
                unwatch: { client, descriptor in unsafe client.withLoad { $0.unwatch(descriptor) } },
                set_timer: { client, timer, delay in unsafe client.withLoad { $0.setTimer(timer, delay) } },
                fired: { client, timer in unsafe client.withLoad { $0.takeFired(timer) } }))
        return unsafe UnsafePointer(table)
    }()
}
