// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import PortolanCore
import Synchronization

extension DeliveryQueue {
    /// Delivers on the thread of a run loop, while the run loop runs in one of the modes.
    ///
    ///     let task = loader.task(for: request, delegate: delegate, on: DeliveryQueue(.current))
    ///     task.resume()
    ///     while !delegate.hasEnded { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
    ///
    /// The queue is an input source of the run loop: `run(mode:before:)` waits for events, and returns after it has
    /// delivered some. While the run loop does not run, or runs in another mode, the events wait, and the load pauses
    /// when `Loader.Configuration.bufferSize` bytes wait. If a delegate runs the run loop itself, the next event waits
    /// until the delegate returns. The source is removed when the queue and its loads are released.
    ///
    /// The main run loop also runs the main dispatch queue. For that, the module `Portolan` has an initializer that
    /// does not need Foundation.
    ///
    /// Make one queue for a run loop, and not one for each load: Foundation on Linux never frees the timer of a queue
    /// (about 300 bytes). The run loop must run until the loads have ended: otherwise the events that wait, and their
    /// loads, stay in memory.
    ///
    /// - Parameters:
    ///   - runLoop: the run loop on whose thread events are delivered.
    ///   - modes: the modes in which events are delivered. None means the default mode.
    public init(_ runLoop: RunLoop, modes: [RunLoop.Mode] = [.default]) {
        let connection = RunLoopConnection(runLoop, modes.isEmpty ? [.default] : modes)
        self.init { connection.append($0) }
    }
}

/// The source of a delivery queue, in the run loop until this object is released.
private final class RunLoopConnection: @unchecked Sendable {  // … because threads only signal the source and set the timer
    private let runLoop: RunLoop
    private let modes: [RunLoop.Mode]
    private let source = JobSource()
    /// Wakes the run loop. One timer for all events, because Foundation on Linux leaks the memory of each timer.
    private let alarm = Timer(fire: .distantFuture, interval: 1e9, repeats: true) { _ in }

    init(_ runLoop: RunLoop, _ modes: [RunLoop.Mode]) {
        (self.runLoop, self.modes) = (runLoop, modes)
        for mode in modes {
            runLoop._add(source, forMode: mode)
            runLoop.add(alarm, forMode: mode)
        }
    }

    /// The run loop releases the source, because its thread can be about to call it.
    deinit {
        alarm.invalidate()
        source.invalidate()
        nonisolated(unsafe) let source = source  // … because the closure only releases it
        runLoop.perform(inModes: modes) { _ = unsafe source }
    }

    /// Adds a job. A waiting job retains this object, and with it the source.
    func append(_ job: @escaping @Sendable () -> Void) {
        guard source.append({ [self] in withExtendedLifetime(self) { job() } }) else { return }
        source.signal()
        // A signal does not wake a run loop that waits, but a timer does.
        alarm.fireDate = Date()
    }
}

/// Jobs that wait for a run loop. The base class is public in Foundation for Linux, and XCTest also uses it.
private final class JobSource: RunLoop._Source {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    /// - Returns: whether the source must be signalled: it runs no job, and no other job waits.
    func append(_ job: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            state.jobs.append(job)
            return state.jobs.count == 1 && !state.isRunning
        }
    }

    /// Runs the jobs that wait, one after another. Called by the run loop. Jobs that come in the meantime run in a
    /// later call, so that other sources have their turn.
    override func perform() {
        let jobs = state.withLock { state -> [@Sendable () -> Void] in
            // If a job is running, that job itself runs the run loop, which calls this method again.
            guard !state.isRunning, !state.jobs.isEmpty else { return [] }
            state.isRunning = true
            defer { state.jobs = [] }
            return state.jobs
        }
        if jobs.isEmpty { return }
        for job in jobs { job() }
        let mustRunAgain = state.withLock { state in
            state.isRunning = false
            return !state.jobs.isEmpty
        }
        if mustRunAgain { signal() }
    }
}
