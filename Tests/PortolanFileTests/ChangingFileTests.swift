// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanFile
import PortolanTestSupport
import Testing

/// Files that change while they are loaded.
@Suite struct ChangingFileTests {
    private static let bytes = PatternedBytes.make(3_000_000)

    @Test(arguments: [(0, 1_048_576), (1_048_577, 1_048_577), (2_000_000, 2_000_000), (2_999_999, 2_999_999)])
    func shrinkingFileFailsTheLoadAfterItsRemainingBytes(_ size: Int, _ deliveredBytes: Int) async throws {
        let harness = try FileHarness()
        let folder = harness.folder
        try folder.write(Self.bytes, to: "f")
        let recording = try await harness.load(harness.url(of: "f")) { event, _ in
            if event == 1 { try? folder.resize("f", to: size) }
            return .keepGoing
        }
        let error = try #require(recording.error)
        #expect(error.code == .truncated)
        #expect(error.message.contains("\(deliveredBytes) of 3000000 bytes"), "\(error)")
        #expect(recording.hasBytes(Array(Self.bytes[..<deliveredBytes])))
        #expect(recording.finishCount == 0)
        #expect(recording.violations.isEmpty)
        try await harness.waitUntilIdle()
        #expect(harness.folder.openDescriptorCount == 0)
    }

    @Test func truncatedRangeErrorCountsTheBytesOfTheRange() async throws {
        let harness = try FileHarness()
        let folder = harness.folder
        try folder.write(Self.bytes, to: "f")
        let recording = try await harness.load(harness.url(of: "f"), fields: [.range: "bytes=1000-899999"]) { event, _ in
            if event == 0 { try? folder.resize("f", to: 1500) }
            return .keepGoing
        }
        #expect(recording.error?.code == .truncated)
        #expect(recording.error?.message.contains("500 of 899000 bytes") == true)
    }

    @Test func growingFileIsDeliveredToItsAnnouncedLength() async throws {
        let harness = try FileHarness()
        let folder = harness.folder
        try folder.write(Self.bytes, to: "f")
        let recording = try await harness.load(harness.url(of: "f")) { _, _ in
            try? folder.resize("f", to: 5_000_000)
            return .keepGoing
        }
        #expect(recording.hasBytes(Self.bytes))
        #expect(recording.finishCount == 1)
        #expect(recording.violations.isEmpty)
    }

    @Test func openFileIsReadToItsEndAfterItIsReplaced() async throws {
        let harness = try FileHarness()
        let folder = harness.folder
        try folder.write(Self.bytes, to: "f")
        let recording = try await harness.load(harness.url(of: "f")) { event, _ in
            if event == 1 { try? folder.replace("f", by: "other".utf8) }
            return .keepGoing
        }
        #expect(recording.hasBytes(Self.bytes))
        #expect(recording.finishCount == 1)
    }
}
