// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanHandlers
import PortolanStreams

/// Decides for a custom source or sink what its functions return, and checks how the stream calls them.
final class EndpointScript: @unchecked Sendable {  // … because a case runs on a single thread
    enum Decision {
        /// The maximum number of bytes to move.
        case move(Int)
        case wait, end
        case failed(LoadError)
        /// Against the contract: success, but no bytes are moved.
        case moveNothing
    }

    /// The number of bytes of a source.
    static let limit = 200

    weak var play: StreamPlay?
    /// Whether the source knows what the next read returns, and whether it has memory to borrow.
    let (canPeek, hasMemory): (Bool, Bool)
    /// `nil` while the endpoint opens.
    private(set) var openingResult: Bool?
    private(set) var closeCount = 0
    private(set) var finishCount = 0
    /// Whether all results have kept the contract.
    private(set) var keepsContract = true
    /// The position of the next byte of a source.
    private(set) var position = 0
    /// While it is set, no read or write returns `wait`, because the thread would wait forever.
    var mustNotWait = false
    private(set) var isChangingProperty = false

    private var call: String?
    private var openCount = 0
    private var isWaiting = false
    private var becameReadyEarly = false
    private var hasEnded = false
    /// The result of the next read or write, which a query has returned.
    private var promise: Decision?
    private var completions: [@Sendable (LoadError?) -> Void] = []
    private var readyCallbacks: [@Sendable () -> Void] = []

    init(canPeek: Bool, hasMemory: Bool) { (self.canPeek, self.hasMemory) = (canPeek, hasMemory) }

    static let failure = LoadError(.connectionLost, message: "the script fails the stream")
    static let fullError = LoadError(.streamFull, domain: LoadError.streamDomain, message: "the script's sink is full")

    private func check(_ condition: Bool, _ message: @autoclosure () -> String) { play?.check(condition, message()) }

    private func begin(_ name: String) {
        check(call == nil, "\(name) was called during \(call ?? "")")
        check(closeCount == 0, "\(name) was called after close")
        (call, becameReadyEarly) = (name, false)
    }

    private func beginTransfer(_ name: String) {
        begin(name)
        check(openingResult == true, "\(name) was called before the endpoint was open")
        check(!isWaiting, "\(name) was called before whenReady")
        check(!hasEnded, "\(name) was called after the end")
    }

    private func end() { call = nil }

    // MARK: Opening and closing

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) {
        begin("open")
        defer { end() }
        openCount += 1
        check(openCount == 1, "the endpoint was opened twice")
        guard let play, !play.script.isEmpty else { return completeOpening(completion, succeeds: true) }
        switch play.script.next(below: 8) {
        case 0, 1, 2: completeOpening(completion, succeeds: true)
        case 3, 4: completions.append(completion)
        case 5: completeOpening(completion, succeeds: false)
        case 6:
            play.nestedStep()
            completeOpening(completion, succeeds: true)
        default:
            // Against the contract: twice.
            completeOpening(completion, succeeds: true)
            completions.append(completion)
        }
    }

    private func completeOpening(_ completion: @Sendable (LoadError?) -> Void, succeeds: Bool) {
        openingResult = openingResult ?? succeeds
        completion(succeeds ? nil : Self.failure)
    }

    func completeOpening(succeeds: Bool) { if !completions.isEmpty { completeOpening(completions.removeFirst(), succeeds: succeeds) } }

    func finish() -> LoadError? {
        begin("finish")
        defer { end() }
        finishCount += 1
        return play?.script.next(below: 8) == 1 ? Self.failure : nil
    }

    func close() {
        check(call == nil, "the endpoint was closed during \(call ?? "")")
        closeCount += 1
        check(closeCount == 1, "the endpoint was closed twice")
    }

    // MARK: Reading and writing

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        beginTransfer("read")
        defer { end() }
        let decision = promise.take() ?? decide(whenReady)
        switch decision {
        case .move(let count):
            for _ in 0..<min(count, buffer.freeCapacity) { buffer.append(nextByte()) }
            return .bytes
        case .moveNothing: return .bytes
        case .wait, .end, .failed: return bodyRead(decision)
        }
    }

    func withAvailableBytes(_ body: (borrowing RawSpan) -> Int) -> Bool {
        beginTransfer("withAvailableBytes")
        defer { end() }
        guard hasMemory, let play else { return false }
        switch promise {
        case .move: break
        case nil where position < Self.limit: break
        default: return false
        }
        let choice = play.script.next()
        if choice & 3 == 0 { return false }
        promise = nil
        if choice == 0xFF {
            keepsContract = false
            return true
        }
        let end = min(position + 1 + Int(choice >> 2), Self.limit)
        let bytes = (position..<end).map { UInt8($0) }
        position += min(max(unsafe body(bytes.span.bytes), 0), bytes.count)
        return true
    }

    func peek(_ whenReady: @escaping @Sendable () -> Void) -> BodyRead? {
        guard canPeek else { return nil }
        beginTransfer("peek")
        defer { end() }
        let decision = promise ?? decide(whenReady)
        switch decision {
        case .move: promise = decision
        case .wait, .end, .failed, .moveNothing: promise = nil
        }
        return bodyRead(decision)
    }

    /// - Returns: the number of accepted bytes, or the reason why there are none.
    func write(_ count: Int, _ whenReady: @escaping @Sendable () -> Void) -> StreamWrite {
        beginTransfer("write")
        defer { end() }
        let decision = promise.take() ?? decide(whenReady)
        switch decision {
        case .move(let limit):
            if count == 0 { promise = decision }
            return .wrote(min(limit, count))
        case .moveNothing: return .wrote(play.map { [0, -1, count + 1, .max][$0.script.next(below: 4)] } ?? 0)
        case .wait: return .wait
        case .end:
            // A full sink is an error of the next write, and not of a query.
            if count == 0 { promise = .end } else { hasEnded = true }
            return .failed(Self.fullError)
        case .failed(let error):
            hasEnded = true
            return .failed(error)
        }
    }

    private func bodyRead(_ decision: Decision) -> BodyRead {
        switch decision {
        case .move, .moveNothing: return .bytes
        case .wait: return .wait
        case .end:
            hasEnded = true
            return .end
        case .failed(let error):
            hasEnded = true
            return .failed(error)
        }
    }

    private func nextByte() -> UInt8 {
        position += 1
        return UInt8(position - 1)
    }

    private func decide(_ whenReady: @escaping @Sendable () -> Void) -> Decision {
        let bytes: Decision = position < Self.limit ? .move(min(16, Self.limit - position)) : .end
        guard let play, !play.script.isEmpty else { return bytes }
        let byte = play.script.next()
        switch byte & 7 {
        case 0, 1: return position < Self.limit ? .move(min(1 + Int(byte >> 3), Self.limit - position)) : .end
        case 2: return wait(whenReady, else: bytes)
        case 3:
            defer { callReadyCallback(0, keeps: byte & 8 != 0) }
            return wait(whenReady, else: bytes, isEarly: true)
        case 4:
            play.nestedStep()
            return position < Self.limit ? bytes : .end
        case 5:
            play.nestedStep()
            return wait(whenReady, else: bytes)
        case 6: return .end
        default:
            guard byte >= 0xC0 else { return byte >= 0x80 ? .failed(Self.failure) : bytes }
            keepsContract = false
            return .moveNothing
        }
    }

    private func wait(_ whenReady: @escaping @Sendable () -> Void, else bytes: Decision, isEarly: Bool = false) -> Decision {
        if mustNotWait { return bytes }
        isWaiting = !isEarly && !becameReadyEarly
        readyCallbacks.insert(whenReady, at: 0)
        return .wait
    }

    // MARK: Becoming ready

    /// Calls a callback, also an old one.
    ///
    /// - Parameter keeps: whether to call it again later, against the contract.
    func callReadyCallback(_ number: Int, keeps: Bool) {
        guard !readyCallbacks.isEmpty else { return }
        let index = number % readyCallbacks.count
        let callback = keeps ? readyCallbacks[index] : readyCallbacks.remove(at: index)
        (isWaiting, becameReadyEarly) = (false, true)
        callback()
    }

    /// Completes opening, and calls all callbacks.
    ///
    /// - Returns: whether there were any.
    func completeAll() -> Bool {
        let hasAny = !completions.isEmpty || !readyCallbacks.isEmpty
        while !completions.isEmpty { completeOpening(succeeds: true) }
        while !readyCallbacks.isEmpty { callReadyCallback(0, keeps: false) }
        return hasAny
    }

    // MARK: Properties

    func setProperty(_ value: any Sendable) -> Bool {
        begin("setProperty")
        isChangingProperty = true
        defer {
            isChangingProperty = false
            end()
        }
        guard let play, let offset = value as? Int64 else { return false }
        switch play.script.next(below: 4) {
        case 0: return false
        case 1:
            callReadyCallback(0, keeps: false)
            return false
        case 2: play.nestedStep()
        default: break
        }
        guard 0...Int64(Self.limit) ~= offset else { return false }
        (position, hasEnded, isWaiting, promise) = (Int(offset), false, false, nil)
        play.didChangeOffset(of: self, to: Int(offset))
        return true
    }
}
