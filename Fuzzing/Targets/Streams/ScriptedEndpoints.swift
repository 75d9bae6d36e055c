// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanHandlers
import PortolanStreams

/// A custom source of bytes, whose values are their positions.
final class ScriptedSource: PortolanStreams.ByteSource {
    private let script: EndpointScript

    init(_ script: EndpointScript) { self.script = script }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) { script.open(completion) }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        script.read(into: &buffer, whenReady: whenReady)
    }

    func withAvailableBytes(_ body: (borrowing RawSpan) -> Int) -> Bool { script.withAvailableBytes(body) }
    func peek(whenReady: @escaping @Sendable () -> Void) -> BodyRead? { script.peek(whenReady) }

    func property(_ name: String) -> (any Sendable)? {
        name == StreamPropertyKey<Int64>.currentOffset.name ? Int64(script.position) : nil
    }

    func setProperty(_ value: any Sendable, for name: String) -> Bool { script.setProperty(value) }
    func close() { script.close() }
}

/// A custom sink.
final class ScriptedSink: ByteSink {
    private let script: EndpointScript

    init(_ script: EndpointScript) { self.script = script }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) { script.open(completion) }

    func write(_ bytes: borrowing RawSpan, whenReady: @escaping @Sendable () -> Void) -> StreamWrite {
        let copy = unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
        let result = script.write(copy.count, whenReady)
        if case .wrote(let count) = result { script.play?.didAccept(copy.prefix(min(max(count, 0), copy.count))) }
        return result
    }

    func setProperty(_ value: any Sendable, for name: String) -> Bool { script.setProperty(value) }
    func finish() -> LoadError? { script.finish() }
    func close() { script.close() }
}
