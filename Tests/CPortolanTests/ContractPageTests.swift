// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

/// The tables of contract.md have each member of the Swift protocols and of the C structs.
@Suite struct ContractPageTests {
    struct DocumentedType: CustomTestStringConvertible {
        var table, swiftFile, swiftProtocol, header, structure: String
        var testDescription: String { table }
    }

    static let documentedTypes = [
        DocumentedType(
            table: "client", swiftFile: "ProtocolClient.swift", swiftProtocol: "ProtocolClient", header: "client.h",
            structure: "portolan_client"),
        DocumentedType(
            table: "load", swiftFile: "ProtocolLoad.swift", swiftProtocol: "ProtocolLoad", header: "load.h",
            structure: "portolan_load_table"),
        DocumentedType(
            table: "handler", swiftFile: "ProtocolHandler.swift", swiftProtocol: "ProtocolHandler", header: "handler.h",
            structure: "portolan_handler"),
    ]

    @Test(arguments: documentedTypes)
    func everySwiftMemberHasARow(documentedType: DocumentedType) throws {
        let source = try text(of: file(named: documentedType.swiftFile, under: "Sources/PortolanCore"))
        let members = SwiftMembers.of(protocol: documentedType.swiftProtocol, in: source)
        try #require(!members.isEmpty, "no protocol \(documentedType.swiftProtocol) was found in \(documentedType.swiftFile)")
        #expect(try rows(of: documentedType.table).flatMap(\.swift).sorted() == members.sorted())
    }

    @Test(arguments: documentedTypes)
    func everyCMemberHasARow(documentedType: DocumentedType) throws {
        let source = try text(of: "Sources/CPortolan/include/portolan/\(documentedType.header)")
        let members = CMembers.of(structure: documentedType.structure, in: source).filter { $0 != "size" && $0 != "reserved" }
        try #require(!members.isEmpty, "no struct \(documentedType.structure) was found in \(documentedType.header)")
        #expect(try rows(of: documentedType.table).flatMap(\.c).sorted() == members.sorted())
    }

    @Test func swiftMembersAndCMembersFindEveryMember() {
        let swift = """
            public protocol Shape: Sendable {   // func comment()
                var name: String { get }
                func draw()
                func move(to point: Point, _ then: @escaping @Sendable (Int?, Bool) -> Void) -> [String: Int]
            }
            extension Shape { func other() {} }
            """
        #expect(SwiftMembers.of(protocol: "Shape", in: swift) == ["name", "draw()", "move(to:_:)"])
        let c = """
            typedef struct shape { uint32_t size, reserved; /* int x; */
                const char *PORTOLAN_NULLABLE name; // int y;
                void *PORTOLAN_NULLABLE (*PORTOLAN_NULLABLE draw)(void *shape, int32_t (*then)(int));
                struct inner *inner; } shape;
            """
        #expect(CMembers.of(structure: "shape", in: c) == ["size", "reserved", "name", "draw", "inner"])
    }

    // MARK: The page

    /// The Swift and C members in each row of a table.
    private func rows(of table: String) throws -> [(swift: [String], c: [String])] {
        let page = try text(of: "Sources/Portolan/Portolan.docc/contract.md")
        let start = try #require(
            page.firstRange(of: "<!-- table: \(table) -->\n"), "Sources/Portolan/Portolan.docc/contract.md has no table \(table)")
        let lines = page[start.upperBound...].split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("|") }
        return lines.dropFirst(2).map { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map(textsInBackticks)
            return (cells.count > 1 ? cells[1] : [], cells.count > 2 ? cells[2] : [])
        }
    }

    private func textsInBackticks(in cell: Substring) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    // MARK: Files

    private var root: String {
        #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
    }

    private func text(of path: String) throws -> String {
        try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
    }

    private func file(named name: String, under folder: String) throws -> String {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(folder)")
        let path = try #require(paths.first { $0 == name || $0.hasSuffix("/\(name)") }, "there is no \(name) under \(folder)")
        return "\(folder)/\(path)"
    }
}
