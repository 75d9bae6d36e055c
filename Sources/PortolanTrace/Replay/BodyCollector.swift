// SPDX-License-Identifier: Apache-2.0

package import PortolanCore
import Synchronization

/// Reads the body of a request if it can be read again. ``collect(_:then:)`` does not block a thread.
package final class BodyCollector: Sendable {
    fileprivate struct State {
        /// All bytes, until there are more than ``Transaction/maximumBodySize``.
        var bytes: [UInt8] = []
        /// The hasher of all bytes; `nil` while ``bytes`` has them.
        var hasher: SHA256?
        var count: Int64 = 0
        var answer: (@Sendable (SentBody) -> Void)?
    }

    private let reader: any BodyReader
    private let calls = SerialCalls()
    private let state: Mutex<State>
    private static let pieceSize = 64 << 10

    private init(_ reader: any BodyReader, _ answer: @escaping @Sendable (SentBody) -> Void) {
        self.reader = reader
        state = Mutex(State(answer: answer))
    }

    /// Reads `body` and calls `answer` once, possibly before this function returns.
    ///
    /// - Parameters:
    ///   - body: the body; `nil` counts as empty.
    ///   - answer: receives the bytes, or their digest if there are more than ``Transaction/maximumBodySize``.
    package static func collect(_ body: Body?, then answer: @escaping @Sendable (SentBody) -> Void) {
        guard let body else { return answer(.bytes([])) }
        guard body.isRewindable else { return answer(.unread(length: body.length)) }
        do throws(LoadError) {
            let collector = BodyCollector(try body.makeReader(), answer)
            collector.calls.submit(.start) { _ in collector.read() }
        } catch {
            answer(.unread(length: body.length))
        }
    }

    private func read() {
        while true {
            var read = BodyRead.end
            let piece = [UInt8](capacity: Self.pieceSize) { output in
                read = reader.read(into: &output) { [self] in calls.submit(.resume) { _ in self.read() } }
            }
            switch read {
            case .bytes:
                state.withLock { $0.append(piece) }
            case .end: return end(isComplete: true)
            case .failed: return end(isComplete: false)
            case .wait: return
            }
        }
    }

    private func end(isComplete: Bool) {
        reader.close()
        let (sent, answer) = state.withLock { state -> (SentBody, (@Sendable (SentBody) -> Void)?) in
            (isComplete ? state.sentBody : .unread(length: nil), state.answer.take())
        }
        answer?(sent)
    }
}

extension BodyCollector.State {
    fileprivate mutating func append(_ piece: [UInt8]) {
        count += Int64(piece.count)
        if hasher == nil {
            bytes += piece
            guard bytes.count > Transaction.maximumBodySize else { return }
            hasher = SHA256()
            hasher?.update(bytes)
            bytes = []
        } else {
            hasher?.update(piece)
        }
    }

    fileprivate var sentBody: SentBody { hasher.map { .large(length: count, $0.finalize()) } ?? .bytes(bytes) }
}

extension BodyCollector {
    /// Like ``collect(_:then:)``, but blocks until the result. Must not be called on an event loop.
    package static func contents(of body: Body?) -> SentBody {
        let result = ConditionLock(SentBody?.none)
        collect(body) { sent in result.withLockBroadcasting { $0 = sent } }
        return result.wait { $0 }
    }
}
