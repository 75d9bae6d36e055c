// SPDX-License-Identifier: Apache-2.0

package import Logging
package import PortolanCore

/// A binding whose library was opened and set up; shared by its loads.
@safe
package final class BindingInstance: Sendable {
    let linked: LinkedProgram
    let settings: [String: PropertyValue]
    let libraryName: String
    let pool: CallbackPool
    let helpers = StopThreads()
    private let liveLoads = ConditionLock(0)

    /// Finds the functions, and calls none.
    ///
    /// - Parameters:
    ///   - libraryName: The name for messages.
    ///   - symbol: Returns the address of a function, or `nil`.
    /// - Throws: If the library lacks something that the binding needs.
    package init(
        _ program: BindingProgram, libraryName: String, settings: [(name: String, value: PropertyValue)], logger: Logger,
        symbol: (String) -> UnsafeMutableRawPointer?
    ) throws(BindingProblem) {
        linked = try unsafe LinkedProgram(program, symbol: symbol)
        self.libraryName = libraryName
        self.settings = Dictionary(settings.map { ($0.name, $0.value) }) { $1 }
        pool = CallbackPool(linked) { logger.warning("\($0)") }
    }

    /// Sets the library up before the first load.
    ///
    /// - Throws: ``LoadError/Code/pluginRefused``, with the failure as its cause.
    package func setUp() throws(LoadError) {
        guard !linked.setup.isEmpty, let url = try? URLRecord(parsing: "binding:setup") else { return }  // because it is a URL
        let host = SetUpHost(request: Request(url: url), settings: settings, libraryName: libraryName)
        do throws(RunEnd) {
            try BoundRun(linked, host: host, pool: pool).runSetup(linked.setup)
        } catch {
            guard case .failed(let reason) = error else { return }
            throw LoadError(.pluginRefused, message: "\(libraryName) can't be set up: \(reason.message)", underlyingError: reason)
        }
    }

    func loadBegan() {
        liveLoads.withLock { $0 += 1 }
    }

    func loadEnded() {
        liveLoads.withLockBroadcasting { $0 -= 1 }
    }

    /// Waits until all its loads have ended.
    package func waitUntilIdle() {
        liveLoads.wait { $0 == 0 ? () : nil }
    }
}

/// The host of a setup, which has no client.
private final class SetUpHost: RunHost {
    let request: Request
    let settings: [String: PropertyValue]
    let libraryName: String

    init(request: Request, settings: [String: PropertyValue], libraryName: String) {
        self.request = request
        self.settings = settings
        self.libraryName = libraryName
    }

    var mayCall: Bool { true }
    func enterCall() -> Bool { true }
    func leaveCall() {}
    func respond(_ response: Response) -> Bool { true }
    func deliver(_ bytes: UnsafeRawBufferPointer) -> Bool { true }
    func readBody(_ room: UnsafeMutableRawBufferPointer) throws(RunEnd) -> Int { 0 }
}

/// Threads that call stop functions, so that the caller of a stop does not wait for the library.
final class StopThreads: Sendable {
    private let pool = LoadThreadPool(limit: 8)

    func run(_ job: @escaping @Sendable () -> Void, orElse: () -> Void) {
        // Without a thread, the load ends at its next step.
        do throws(LoadError) { try pool.run(job) } catch { orElse() }
    }
}
