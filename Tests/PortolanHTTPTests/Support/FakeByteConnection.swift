// SPDX-License-Identifier: Apache-2.0

import PortolanCore

@testable import PortolanHTTP
@testable import PortolanTransport

/// A byte connection in memory. The test sends the bytes of the peer.
final class FakeByteConnection: ByteConnection {
    let manualLoop: InMemoryEventLoop
    private var receiver: (any ByteConnectionReceiver)?
    /// Whether the connection reports that it accepts more bytes. It accepts all writes in either case.
    var isWritable = true {
        didSet { if isWritable, !oldValue { receiver?.transportIsWritable() } }
    }
    private(set) var isOpen = true
    /// The written bytes, one element for each write.
    private(set) var writes: [[UInt8]] = []

    init(on loop: InMemoryEventLoop, for receiver: any ByteConnectionReceiver) {
        manualLoop = loop
        self.receiver = receiver
    }

    var loop: any EventLoop { manualLoop }
    var isWatched: Bool { true }
    /// Whether the peer has sent bytes that were not delivered.
    var hasUnreadBytes = false
    var isAlive: Bool { isOpen && !hasUnreadBytes }

    func write(_ bytes: borrowing RawSpan, hasMore: Bool) {
        guard isOpen else { return }
        writes.append(unsafe bytes.withUnsafeBytes { unsafe Array($0) })
    }

    func write(file: CInt, from offset: Int64, atMost count: Int) -> FileSendResult { .unable }
    func promiseDriver() {}
    func drive(for waiter: LoadWaiter, while isNeeded: () -> Bool) -> Bool { false }
    func finishWriting() { isWritable = false }
    func pause() {}
    func resume() {}

    func close() {
        guard isOpen else { return }
        isOpen = false
        let transport = LoopBound(self)
        manualLoop.execute { transport.value.reportEnd(nil) }
    }

    // MARK: Methods for the test

    /// Delivers the peer's bytes to the receiver.
    func deliver(_ bytes: [UInt8]) {
        guard isOpen else { return }
        unsafe receiver?.didReceive(bytes.span.bytes)
    }

    /// The peer ends the connection.
    func end(_ failure: SocketError? = nil) {
        guard isOpen else { return }
        isOpen = false
        reportEnd(failure)
    }

    private func reportEnd(_ failure: SocketError?) {
        let receiver = receiver
        self.receiver = nil
        receiver?.transportDidEnd(failure)
    }
}
