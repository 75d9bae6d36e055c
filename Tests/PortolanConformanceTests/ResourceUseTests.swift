// SPDX-License-Identifier: Apache-2.0

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
            (.file(path: "/nowhere/plugin/data", .read), [], true), (.file(path: "/nowhere/plugin/data", .written), [], false),
            (.file(path: "/nowhere/plugin/../data", .read), [], false), (.file(path: "/nowhere/plugins", .read), [], false),
            (.file(path: "/nowhere/other/libtide.so.1", .read), [], true),
            (.file(path: "/nowhere/other/libtide.so.1", .written), [], false),
            (.file(path: "/etc/resolv.conf", .read), [], false), (.file(path: "/etc/resolv.conf", .read), [.network], true),
            (.file(path: "/etc/resolv.conf", .written), [.network], false), (.file(path: "/nowhere/x", .changed), [.files], true),
            (.file(path: "/nowhere/x", .changed), [.network, .cookies], false), (.file(path: "/dev/null", .written), [], true),
            (.file(path: "/run/nscd/socket", .written), [], true), (.file(path: "/proc/self/root/etc/shadow", .read), [], false),
            (.network(address: "192.0.2.1, port 80", .binds), [.files], false),
            (.network(address: "192.0.2.1, port 80", .sends), [.network], true),
            (.hidden, [], true),
        ] as [(ResourceUse, Set<PluginPermission>, Bool)])
    func useIsCompared(_ use: ResourceUse, _ permissions: Set<PluginPermission>, _ isPermitted: Bool) {
        let permits = PermittedUses(permissions, folders: ["/nowhere/plugin"])
        #expect((permits.objection(to: use, libraries: ["libtide.so.1"]) == nil) == isPermitted)
    }
}
