// SPDX-License-Identifier: Apache-2.0

package import PortolanCore
import Synchronization

/// Reads what a request sends, as far as it can be read again, without waiting in a thread.
package final class BodyCollector: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var answer: (@Sendable ([UInt8]?) -> Void)?
    }

    private let reader: any BodyReader
    private let turns = LoadTurns()
    private let state: Mutex<State>
    private static let pieceSize = 64 << 10

    private init(_ reader: any BodyReader, _ answer: @escaping @Sendable ([UInt8]?) -> Void) {
        self.reader = reader
        state = Mutex(State(answer: answer))
    }

    /// Reads `body` and calls `answer` once, possibly before this returns.
    ///
    /// - Parameters:
    ///   - body: `nil` has no bytes.
    ///   - answer: gets the bytes, or `nil` where the body can be read only once, fails, or has more than ``Exchange/largestBody`` bytes.
    package static func collect(_ body: Body?, then answer: @escaping @Sendable ([UInt8]?) -> Void) {
        guard let body else { return answer([]) }
        guard body.isRewindable, body.length ?? 0 <= Int64(Exchange.largestBody) else { return answer(nil) }
        do throws(LoadError) {
            let collector = BodyCollector(try body.makeReader(), answer)
            collector.turns.take(.start) { _ in collector.read() }
        } catch {
            answer(nil)
        }
    }

    private func read() {
        while true {
            var read = BodyRead.end
            let piece = [UInt8](capacity: Self.pieceSize) { output in
                read = reader.read(into: &output) { [self] in turns.take(.resume) { _ in self.read() } }
            }
            switch read {
            case .bytes:
                let count = state.withLock { state in
                    state.bytes += piece
                    return state.bytes.count
                }
                if count > Exchange.largestBody { return end(isWhole: false) }
            case .end: return end(isWhole: true)
            case .failed: return end(isWhole: false)
            case .wait: return
            }
        }
    }

    private func end(isWhole: Bool) {
        reader.close()
        let (bytes, answer) = state.withLock { ($0.bytes, $0.answer.take()) }
        answer?(isWhole ? bytes : nil)
    }
}

extension BodyCollector {
    /// As ``collect(_:then:)``, and waits for it. Not from event loops.
    package static func contents(of body: Body?) -> [UInt8]? {
        let monitor = Monitor([UInt8]??.none)
        collect(body) { bytes in monitor.signalling { $0 = .some(bytes) } }
        return monitor.wait { $0 }
    }
}
