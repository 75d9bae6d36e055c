// SPDX-License-Identifier: Apache-2.0

package import Logging
package import PortolanCore

/// The state of one loaded binding: its library's functions, settings and callbacks. All its loads share it.
@safe
package final class BindingInstance: Sendable {
    /// The limit of a request's body in bytes. A binding reads the whole body before it passes it to a function.
    package static let bodyLimit = 64 << 20

    let linkedProgram: LinkedProgram
    let settings: [String: PropertyValue]
    let libraryName: String
    let callbackPool: CallbackPool
    let stopThreads = StopThreads()
    private let liveLoads = ConditionLock(0)

    /// Looks up the library's functions. Does not call them.
    ///
    /// - Parameters:
    ///   - libraryName: The name for messages.
    ///   - symbol: Returns the address of a function, or `nil`.
    /// - Throws: If the library lacks a function, or libffi cannot call it.
    package init(
        _ program: BindingProgram, libraryName: String, settings: [(name: String, value: PropertyValue)], logger: Logger,
        symbol: (String) -> UnsafeMutableRawPointer?
    ) throws(BindingError) {
        linkedProgram = try unsafe LinkedProgram(program, symbol: symbol)
        self.libraryName = libraryName
        self.settings = Dictionary(settings.map { ($0.name, $0.value) }) { $1 }
        callbackPool = CallbackPool(linkedProgram) { logger.warning("\($0)") }
    }

    /// Runs the binding's `setup`, before the first load.
    ///
    /// - Throws: ``LoadError/Code/pluginRefused``, with the failure as its cause.
    package func setUp() throws(LoadError) {
        // `try?`: this constant URL is always valid.
        guard !linkedProgram.setup.isEmpty, let url = try? URLRecord(parsing: "binding:setup") else { return }
        let context = SetupContext(request: Request(url: url), settings: settings, libraryName: libraryName)
        do throws(ExecutionEnd) {
            try BindingExecution(linkedProgram, context: context, callbackPool: callbackPool).runSetup(linkedProgram.setup)
        } catch {
            guard case .failed(let reason) = error else { return }
            throw LoadError(.pluginRefused, message: "\(libraryName) can't be set up: \(reason.message)", underlyingError: reason)
        }
    }

    func loadDidBegin() {
        liveLoads.withLock { $0 += 1 }
    }

    func loadDidEnd() {
        liveLoads.withLockBroadcasting { $0 -= 1 }
    }

    /// Waits until all loads have ended.
    package func waitUntilIdle() {
        liveLoads.wait { $0 == 0 ? () : nil }
    }
}

/// The context in which `setup` runs. There is no client, so nothing is delivered.
private final class SetupContext: ExecutionContext {
    let request: Request
    let settings: [String: PropertyValue]
    let libraryName: String

    init(request: Request, settings: [String: PropertyValue], libraryName: String) {
        self.request = request
        self.settings = settings
        self.libraryName = libraryName
    }

    var mayContinue: Bool { true }
    func beginCall() -> Bool { true }
    func endCall() {}
    func respond(_ response: Response) -> Bool { true }
    func deliver(_ bytes: UnsafeRawBufferPointer) -> Bool { true }
    func readBody(into buffer: UnsafeMutableRawBufferPointer) throws(ExecutionEnd) -> Int { 0 }
}

/// Threads for the stop functions of libraries, so that the caller of a stop does not wait for the library.
final class StopThreads: Sendable {
    private let threadPool = LoadThreadPool(limit: 8)

    /// Runs `job` on a thread. If there is no thread, runs `onFailure`, and the load ends at its next step.
    func run(_ job: @escaping @Sendable () -> Void, onFailure: () -> Void) {
        do throws(LoadError) { try threadPool.run(job) } catch { onFailure() }
    }
}
