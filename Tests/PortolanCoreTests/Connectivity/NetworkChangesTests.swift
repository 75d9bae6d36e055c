// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing

@testable import PortolanCore

@Suite(.timeLimit(.minutes(2))) struct NetworkChangesTests {
    @Test func observerIsCalledOnce() {
        let changes = NetworkChanges()
        let count = Mutex(0)
        let observer = changes.observeNext { count.withLock { $0 += 1 } }
        for _ in 0..<3 { changes.report() }
        withExtendedLifetime(observer) { #expect(count.withLock { $0 } == 1) }
    }

    @Test func releasedObserverIsNotCalled() {
        let changes = NetworkChanges()
        let count = Mutex(0)
        for _ in 0..<1000 { _ = changes.observeNext { count.withLock { $0 += 1 } } }
        changes.report()
        #expect(count.withLock { $0 } == 0)
    }

    /// Adds an address to the loopback interface, and removes it. Only root may do that.
    private static let script = """
        import fcntl, socket, struct
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        name, address = b'lo:ptl', struct.pack('HH4s8x', socket.AF_INET, 0, socket.inet_aton('127.83.0.1'))
        fcntl.ioctl(s, 0x8916, struct.pack('16s16s', name, address))
        fcntl.ioctl(s, 0x8914, struct.pack('16sH14x', name, 0))
        """

    private static func changeNetwork() -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = ["-c", script]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    @Test(.enabled(if: changeNetwork(), "only root may change the network")) func systemReportsANewAddress() async {
        let (stream, source) = AsyncStream.makeStream(of: Void.self)
        let observer = NetworkChanges.shared.observeNext { source.finish() }
        #expect(Self.changeNetwork())
        for await _ in stream {}
        withExtendedLifetime(observer) {}
    }
}
