// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanPlugins
import Testing

@testable import PortolanConformance

/// Socket addresses as the kernel receives them, and which uses need a permission.
@Suite struct ResourceUseTests {
    private static let local = [UInt8]([1, 0])
    private static let version6: [UInt8] =
        [10, 0, 0x1F, 0x90, 0, 0, 0, 0] + [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1, 0, 0, 0, 0]

    @Test(
        arguments: [
            ([2, 0, 0, 80, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0], .network(address: "192.0.2.1, port 80", .connects)),
            (version6, .network(address: "[2001:db8:0:0:0:0:0:1], port 8080", .connects)),
            (local + Array("/run/x\u{0}y".utf8), .file(path: "/run/x", .written)),
            (local + Array("x".utf8), .file(path: "./x", .written)),
            (local + Array("\u{0}name".utf8), .network(address: "the abstract socket 'name'", .connects)),
            ([17, 0, 1, 2], .network(address: "an address of the family 17", .connects)),
            ([0, 0], nil), ([16, 0, 0, 0], nil), (local, nil), ([2, 0, 0, 80, 1, 2, 3], nil), (Array(version6.prefix(23)), nil), ([2], nil),
            ([], nil),
        ] as [([UInt8], ResourceUse?)])
    func socketAddressIsRead(_ bytes: [UInt8], _ use: ResourceUse?) {
        #expect(ResourceUse(socketAddress: bytes, .connects) == use)
    }

    @Test(
        arguments: [
            ([17, 3, 3 << 8], "a raw socket of the family 17"), ([2, 3, 1], "a raw socket of the family 2"),
            ([16, 3, 4], "a netlink socket of the protocol 4"),
        ] as [([Int32], String)])
    func socketWithoutAddressIsRead(_ numbers: [Int32], _ name: String) {
        let bytes = numbers.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
        #expect(ResourceUse(socket: bytes) == .network(address: name, .opens))
    }

    @Test(
        arguments: [
            (.file(path: "/nowhere/plugin/data", .read), [], true), (.file(path: "/nowhere/plugin/data", .written), [], false),
            (.file(path: "/nowhere/plugin/../data", .read), [], false), (.file(path: "/nowhere/plugins", .read), [], false),
            (.file(path: "/nowhere/other/libtide.so.1", .read), [], true),
            (.file(path: "/nowhere/other/libtide.so.1", .written), [], false),
            (.file(path: "/etc/resolv.conf", .read), [], false), (.file(path: "/etc/resolv.conf", .read), [.network], true),
            (.file(path: "/etc/resolv.conf", .written), [.network], false), (.file(path: "/nowhere/x", .changed), [.files], true),
            (.file(path: "/nowhere/x", .changed), [.network, .cookies], false), (.file(path: "/dev/null", .written), [], true),
            (.file(path: "/run/nscd/socket", .written), [], true), (.file(path: "/proc/self/root/etc/shadow", .read), [], false),
            (.file(path: "/nowhere/plugin/bin", .executed), [], true), (.file(path: "/nowhere/bin", .executed), [], false),
            (.file(path: "/usr/lib/x", .executed), [.network], false), (.file(path: "/nowhere/bin", .executed), [.files], true),
            (.file(path: "/proc/self/maps", .read), [], true), (.file(path: "/proc/thread-self/stat", .read), [], true),
            (.file(path: "/proc/self/task/1/comm", .read), [], true), (.file(path: "/proc/self/comm", .written), [], false),
            (.file(path: "/proc/self/environ", .read), [], false), (.file(path: "/proc/self/task/1/environ", .read), [], false),
            (.file(path: "/proc/thread-self/mem", .read), [], false), (.file(path: "/proc/self/cmdline", .read), [], false),
            (.file(path: "/proc/self/maps/environ", .read), [], false), (.file(path: "/proc/1/maps", .read), [], false),
            (.network(address: "192.0.2.1, port 80", .binds), [.files], false),
            (.network(address: "192.0.2.1, port 80", .sends), [.network], true),
            (.hidden, [], true),
        ] as [(ResourceUse, Set<PluginPermission>, Bool)])
    func useIsCompared(_ use: ResourceUse, _ permissions: Set<PluginPermission>, _ isPermitted: Bool) {
        let permits = PermittedUses(permissions, folders: ["/nowhere/plugin"])
        #expect((permits.objection(to: use, libraries: ["libtide.so.1"]) == nil) == isPermitted)
    }

    /// A permitted path can be reached through a link, as `/usr/share/locale/locale.alias` is one to
    /// `/etc/locale.alias`. A link does not permit more than its target.
    @Test func linkIsComparedByItsTarget() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-links-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let permits = PermittedUses([], folders: ["/nowhere/plugin"])
        for (target, isPermitted) in [("/etc/passwd", true), ("/dev/null", true), ("/etc/shadow", false), ("/proc/self/environ", false)] {
            let link = folder.appendingPathComponent(target.replacing("/", with: "-")).path
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
            #expect((permits.objection(to: .file(path: link, .read), libraries: []) == nil) == isPermitted, "\(target)")
        }
    }

    @Test func pageListsWhatIsPermitted() throws {
        let page = try ConformanceRepository.text(of: "Sources/Portolan/Portolan.docc/plugins.md")
        let permitted =
            Array(PermittedUses.devices) + PermittedUses.services + Array(PermittedUses.files) + PermittedUses.systemFolders
            + Array(PermittedUses.filesOfProcess) + PermittedUses.filesOfNetwork
        #expect(permitted.filter { !page.contains("`\($0)`") } == [])
    }
}
