// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Logging
import PortolanCore
import Testing

@testable import PortolanPlugins

/// The work of one call into the gzip plugin. The host of these tests always has more data and never stops the plugin.
@Suite(.timeLimit(.minutes(2)), .serialized) struct GzipCallTests {
    /// State of the host's C functions, which can't capture values.
    private struct HostState {
        var pulled = 0
        var delivered = 0
        var wakes = 0
    }

    // … because the tests of this suite run one after another, and each calls the plugin on one thread.
    nonisolated(unsafe) private static var hostState = HostState()
    nonisolated(unsafe) private static var piece = unsafe UnsafeRawBufferPointer(start: nil, count: 0)

    private static let nested: UInt = {
        let table = UnsafeMutablePointer<portolan_nested_table>.allocate(capacity: 1)
        unsafe table.initialize(
            to: portolan_nested_table(
                size: UInt32(MemoryLayout<portolan_nested_table>.size), reserved: 0,
                open: { client, _ in OpaquePointer(client) },
                response: { _, place in
                    unsafe place.pointee = UnsafePointer(bitPattern: GzipCallTests.response)
                    return PORTOLAN_CONTINUE
                },
                next: { _, place in
                    unsafe GzipCallTests.hostState.pulled += GzipCallTests.piece.count
                    unsafe place.pointee = GzipCallTests.piece.baseAddress
                    return unsafe Int64(GzipCallTests.piece.count)
                },
                error: { _ in nil }, close: { _ in }))
        return UInt(bitPattern: table)
    }()

    private static let response: UInt = {
        let response = UnsafeMutablePointer<portolan_response>.allocate(capacity: 1)
        unsafe response.initialize(to: portolan_response())
        return UInt(bitPattern: response)
    }()

    /// A client with only the functions that the gzip plugin calls.
    private func makeClient() -> UnsafeMutablePointer<portolan_client> {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: MemoryLayout<portolan_client>.size, alignment: 16)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: MemoryLayout<portolan_client>.size)
        let client = unsafe memory.assumingMemoryBound(to: portolan_client.self)
        unsafe client.pointee.did_receive_response = { _, _ in PORTOLAN_CONTINUE }
        unsafe client.pointee.did_load = { _, _, count in
            unsafe GzipCallTests.hostState.delivered += count
            return PORTOLAN_CONTINUE
        }
        unsafe client.pointee.wake = { _ in unsafe GzipCallTests.hostState.wakes += 1 }
        return unsafe client
    }

    /// Starts a load whose nested body repeats `piece` without end, and calls `woken` once.
    ///
    /// - Returns: the bytes pulled, the bytes delivered and the wakes requested, after the start and after the call of
    ///   `woken`.
    private func progressOfTwoCalls(of piece: [UInt8]) throws -> [(pulled: Int, delivered: Int, wakes: Int)] {
        let descriptor = try PluginDescriptor(of: SharedLibrary(at: Fixtures.path("gzip")))
        let instance = unsafe try HostedInstance(
            descriptor, configuration: PluginConfiguration(), extensions: { _ in unsafe UnsafeRawPointer(bitPattern: Self.nested) },
            logger: Logger(label: "tests"))
        let request = unsafe CStorage(try Request("gzip:inner:x"))
        let client = unsafe makeClient()
        defer { unsafe client.deallocate() }
        var load: UnsafeMutableRawPointer?
        _ = unsafe Refusal.collect { unsafe load = descriptor.handlers[0].make(instance.state, request.pointer, nil, client, $0) }
        let table = descriptor.handlers[0].loads
        let loadPointer = unsafe try #require(load)
        unsafe Self.hostState = HostState()
        return unsafe piece.withUnsafeBytes { whole in
            unsafe Self.piece = whole
            unsafe table.start?(loadPointer)
            let progressAfterStart = unsafe (Self.hostState.pulled, Self.hostState.delivered, Self.hostState.wakes)
            unsafe table.woken?(loadPointer)
            let progressAfterWoken = unsafe (Self.hostState.pulled, Self.hostState.delivered, Self.hostState.wakes)
            unsafe table.destroy?(loadPointer)
            return [progressAfterStart, progressAfterWoken]
        }
    }

    private static let mebibyte = GzipSample().zeros(1 << 20)

    /// The plugin requests a wake for the remaining work (LIFE-03).
    @Test func callReturnsAfterAFewMebibytesOfOutput() throws {
        let progress = try progressOfTwoCalls(of: Self.mebibyte)
        #expect(progress.map(\.wakes) == [1, 2])
        try #require(progress.count > 1)
        #expect(progress[0].delivered >= 4 << 20 && progress[0].delivered <= 5 << 20)
        #expect(progress[1].delivered >= 8 << 20 && progress[1].delivered <= 10 << 20)
    }

    /// Empty members are input without output.
    @Test func callWithoutOutputReturnsAfterAFewMebibytesOfInput() throws {
        let empty = GzipSample().member([])
        let progress = try progressOfTwoCalls(of: Array(repeatElement(empty, count: 10_000).joined()))
        #expect(progress.map(\.wakes) == [1, 2])
        #expect(progress.map(\.delivered) == [0, 0])
        try #require(!progress.isEmpty)
        #expect(progress[0].pulled >= 4 << 20 && progress[0].pulled <= 5 << 20)
    }
}
