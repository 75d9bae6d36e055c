// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import Synchronization

/// What the runner shares between an instance of a plugin and all its loads.
struct InstanceContext: Sendable {
    let callLog: CallLog
    let nestedLoads: NestedLoadCache
    /// The folder for the runner's temporary files.
    var folder = FileManager.default.temporaryDirectory.path
    /// Whether a supervisor sees the processes that the check leaves behind.
    var isSupervised = false
    /// Refuses steps that hung in earlier checks.
    var steps = StepGate(HungSteps())
    let openCount = OpenCount()
    let constViolations = ConstViolations()
}

/// The const arguments that a plugin has written to.
final class ConstViolations: Sendable {
    private let list = Mutex<[String]>([])

    func add(_ argument: String) { list.withLock { if !$0.contains(argument) { $0.append(argument) } } }
    var all: [String] { list.withLock(\.self) }
}

/// The number of a plugin's instances and loads that have begun and not yet ended.
final class OpenCount: Sendable {
    private let count = Atomic(0)

    func begin() { count.add(1, ordering: .relaxed) }
    func end() { count.subtract(1, ordering: .relaxed) }
    var isZero: Bool { count.load(ordering: .relaxed) <= 0 }
}

/// The outcomes of nested loads.
///
/// Each request without a body is loaded once. So later measurements of the plugin do not include the threads and the
/// time of the loader.
final class NestedLoadCache: Sendable {
    typealias Outcome = Result<(Data, Response), LoadError>

    private let makeLoader: @Sendable () -> Loader
    private let state = Mutex(State())

    /// The thread that starts the loads; `nil` if the thread that opens a nested load starts it.
    private let thread = Mutex<StartingThread?>(nil)

    private struct State {
        /// Created on first use, because a loader may have threads.
        var loader: Loader?
        var outcomes: [RequestKey: Entry] = [:]
    }

    private struct RequestKey: Hashable {
        let url: URLRecord
        let method: HTTPRequest.Method
        let fields: HTTPFields
    }

    private enum Entry {
        case loading([@Sendable (Outcome) -> Void])
        case ended(Outcome)
    }

    init(_ makeLoader: @escaping @Sendable () -> Loader) {
        self.makeLoader = makeLoader
    }

    /// Created outside of the lock, because it opens plugins. If two threads create one each, one of them is discarded.
    private var sharedLoader: Loader {
        if let loader = state.withLock(\.loader) { return loader }
        let newLoader = makeLoader()
        return state.withLock { state in
            let loader = state.loader ?? newLoader
            state.loader = loader
            return loader
        }
    }

    /// Loads `request`, and calls `completion` with the outcome, on this thread or later on another.
    func load(_ request: Request, _ completion: @escaping @Sendable (Outcome) -> Void) {
        let key = request.body == nil ? RequestKey(url: request.url, method: request.method, fields: request.fields) : nil
        let (mustLoad, earlierOutcome) = state.withLock { state -> (Bool, Outcome?) in
            if let key, let entry = state.outcomes[key] {
                switch entry {
                case .ended(let outcome): return (false, outcome)
                case .loading(let waiting):
                    state.outcomes[key] = .loading(waiting + [completion])
                    return (false, nil)
                }
            }
            if let key { state.outcomes[key] = .loading([completion]) }
            return (true, nil)
        }
        if let earlierOutcome { return completion(earlierOutcome) }
        guard mustLoad else { return }
        if let thread = thread.withLock(\.self) {
            thread.run { [self] in start(request, key, completion) }
        } else {
            start(request, key, completion)
        }
    }

    /// From now on, a separate thread starts all loads, so that ``CallObservation`` does not observe the loader's
    /// threads as threads of the plugin. If the loader uses Swift concurrency, its threads can also run tasks of a
    /// plugin that is written in Swift. These tasks are not observed.
    func startOnSeparateThread() throws(LoadError) {
        let new = try StartingThread()
        thread.withLock { $0 = new }
    }

    private func start(_ request: Request, _ key: RequestKey?, _ completion: @escaping @Sendable (Outcome) -> Void) {
        sharedLoader.load(request, on: .immediate) { [self] outcome in
            guard let key else { return completion(outcome) }
            let waiting = state.withLock { state -> [@Sendable (Outcome) -> Void] in
                guard case .loading(let waiting)? = state.outcomes.updateValue(.ended(outcome), forKey: key) else { return [] }
                return waiting
            }
            for waitingCompletion in waiting { waitingCompletion(outcome) }
        }
    }
}

/// A thread that runs closures one after another, until the process ends.
private final class StartingThread: Sendable {
    private let jobs = ConditionLock<[@Sendable () -> Void]>([])

    init() throws(LoadError) {
        try PlatformThread.start { [jobs] in
            while true {
                let next = jobs.wait { jobs in
                    defer { jobs = [] }
                    return jobs.isEmpty ? nil : jobs
                }
                for job in next { job() }
            }
        }
    }

    func run(_ job: @escaping @Sendable () -> Void) { jobs.withLockBroadcasting { $0.append(job) } }
}
