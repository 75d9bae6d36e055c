// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanStreams

/// The reads and writes of a play.
extension StreamPlay {
    enum Outcome {
        case moved(Int)
        case failed(LoadError)
    }

    /// Reads or writes, unless the call would make the only thread wait.
    ///
    /// - Returns: `nil` if nothing was called.
    func move(_ stream: PlayedStream, atMost count: Int) -> Outcome? {
        whileReady(stream) { stream.isInput ? read(stream, atMost: count) : write(stream, count) }
    }

    private func whileReady(_ stream: PlayedStream, _ body: () -> Outcome?) -> Outcome? {
        let wasWaitingForbidden = stream.endpoint?.mustNotWait ?? false
        defer { stream.endpoint?.mustNotWait = wasWaitingForbidden }
        if stream.events.handlerNumber == nil {
            let handlerCount = stream.events.handlerCount
            let isReady = stream.askWhetherReady()
            switch stream.status {
            // A handler that was scheduled in the meantime may have read the bytes.
            case .open, .opening, .reading, .writing: guard isReady, stream.events.handlerCount == handlerCount else { return nil }
            case .notOpen, .atEnd, .closed, .error, nil: break
            }
            stream.endpoint?.mustNotWait = true
        }
        stream.callDepth += 1
        defer { stream.callDepth -= 1 }
        return body()
    }

    private func read(_ stream: PlayedStream, atMost count: Int) -> Outcome? {
        guard let input = stream.input else { return nil }
        let (mark, number, eventCount) = (stream.positions.begin(), stream.moved.begin(), stream.events.mayRespond())
        do throws(LoadError) {
            let bytes = try input.read(atMost: count)
            check(bytes.count <= count, "\(bytes.count) bytes were read instead of at most \(count)")
            didRead(bytes, stream, mark, number)
            if !bytes.isEmpty { stream.events.didRespond(since: eventCount) }
            return .moved(bytes.count)
        } catch {
            return .failed(error)
        }
    }

    private func didRead(_ bytes: [UInt8], _ stream: PlayedStream, _ mark: ReadPositions.Mark, _ number: Int) {
        stream.moved.end(number, bytes)
        if case .pair = kind { return }
        if let problem = stream.positions.end(mark, bytes) { check(false, problem) }
    }

    private func write(_ stream: PlayedStream, _ count: Int) -> Outcome? {
        guard let output = stream.output else { return nil }
        let bytes = (nextValue..<nextValue + count).map { UInt8(truncatingIfNeeded: $0) }
        nextValue += count
        let (number, eventCount) = (stream.moved.begin(), stream.events.mayRespond())
        acceptedBytes.append([])
        defer { acceptedBytes.removeLast() }
        do throws(LoadError) {
            let written = try output.write(bytes.span)
            check(0...count ~= written, "\(written) of \(count) bytes were written")
            guard 0...count ~= written else { return nil }
            stream.moved.end(number, Array(bytes.prefix(written)))
            if stream.endpoint != nil, let accepted = acceptedBytes.last {
                check(accepted == Array(bytes.prefix(written)), "\(written) bytes of \(bytes) were written, but the sink has \(accepted)")
            }
            if written > 0 { stream.events.didRespond(since: eventCount) }
            return .moved(written)
        } catch {
            return .failed(error)
        }
    }

    /// The sink has accepted bytes of the innermost write.
    func didAccept(_ bytes: ArraySlice<UInt8>) { if !acceptedBytes.isEmpty { acceptedBytes[acceptedBytes.count - 1] += bytes } }

    /// Uses some of the available bytes, or writes no bytes.
    func borrow(_ stream: PlayedStream, _ byte: UInt8) {
        if let output = stream.output {
            do throws(LoadError) {
                let count = try output.write([UInt8]().span)
                check(count == 0, "\(count) of 0 bytes were written")
            } catch {
                check(!stream.isInUse || stream.status == .error, "a write of no bytes failed: \(error)")
            }
            return
        }
        let wanted = byte < 0xF8 ? Int(byte % 32) : byte < 0xFC ? -1 : .max
        _ = whileReady(stream) {
            guard let input = stream.input else { return nil }
            let eventCount = stream.events.mayRespond()
            var usedCount = 0
            do throws(LoadError) {
                _ = try input.withAvailableBytes { span in
                    let bytes = unsafe span.withUnsafeBytes { unsafe [UInt8]($0) }
                    let used = Array(bytes.prefix(max(wanted, 0)))
                    usedCount += used.count
                    didRead(used, stream, stream.positions.begin(), stream.moved.begin())
                    return wanted
                }
                if usedCount > 0 { stream.events.didRespond(since: eventCount) }
                return .moved(usedCount)
            } catch {
                return .failed(error)
            }
        }
    }
}
