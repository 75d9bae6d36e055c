// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// docs/public-api.txt lists the public declarations of the products, so that a review shows each change of the API.
///
/// `PORTOLAN_UPDATE_API=1 swift test --filter PublicAPITests` updates the file.
@Suite struct PublicAPITests {
    /// The products in the order of the list. `exports` is the file that names the re-exported types; `nil` if the
    /// product re-exports whole modules. A declaration is listed only for the first product that has it.
    private static let products: [(name: String, modules: [String], exports: String?)] = [
        (
            "Portolan",
            [
                "Portolan", "PortolanURL", "PortolanCore", "PortolanCookies", "PortolanHSTS", "PortolanCache", "PortolanContent",
                "PortolanDownloads",
                "PortolanCoding",
                "PortolanHTTPSyntax",
                "PortolanHTTP",
                "PortolanTransport",
            ], "Sources/Portolan/Exports.swift"
        ),
        ("PortolanHandlers", ["PortolanURL", "PortolanCore", "PortolanHandlers"], nil),
        ("PortolanPlugins", ["PortolanPlugins"], nil),
        ("PortolanStore", ["PortolanStore"], nil),
        ("PortolanBackground", ["PortolanBackground"], nil),
        ("PortolanRunLoop", ["PortolanRunLoop"], nil),
        ("PortolanStreams", ["PortolanStreams", "PortolanTransport"], "Sources/PortolanStreams/Exports.swift"),
        ("PortolanRedis", ["PortolanRedis"], nil),
        ("PortolanMetrics", ["PortolanMetrics"], nil),
        ("PortolanTracing", ["PortolanTracing"], nil),
        ("PortolanServiceLifecycle", ["PortolanServiceLifecycle"], nil),
        ("PortolanTestSupport", ["PortolanTestSupport", "PortolanTrace"], nil),
        ("PortolanConformance", ["PortolanConformance", "PortolanPlugins"], "Sources/PortolanConformance/Exports.swift"),
        ("PortolanPluginKit", ["PortolanPluginKit"], nil),
    ]

    private let root: URL
    private var listFile: URL { root.appendingPathComponent("docs/public-api.txt") }

    init() {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        root = folder
    }

    @Test func listHasEveryPublicDeclaration() throws {
        var text = ""
        var listedLines: Set<String> = []
        var allLines: Set<String> = []
        let declarations = try Dictionary(
            uniqueKeysWithValues: Set(Self.products.flatMap(\.modules)).map { ($0, try self.declarations(of: $0)) })
        for product in Self.products {
            let exports = try product.exports.map(exports(of:))
            var lines: [String] = []
            for module in product.modules {
                let declarations = try #require(declarations[module])
                allLines.formUnion(declarations.map(\.line))
                for declaration in declarations where !listedLines.contains(declaration.line) {
                    // A program that imports the module also sees its extensions of the types of other modules.
                    let isExported = exports.map { $0.types.contains(declaration.type) || !$0.modules.contains(module) } ?? true
                    if isExported || declaration.isOfForeignType { lines.append(declaration.line) }
                }
            }
            listedLines.formUnion(lines)
            text += "\(product.name): \(lines.count) declarations\n\n" + lines.sorted().map { "\($0)\n" }.joined() + "\n"
        }
        for line in allLines.subtracting(listedLines).sorted() { Issue.record("public, but in no product: \(line)") }
        if ProcessInfo.processInfo.environment["PORTOLAN_UPDATE_API"] == "1" {
            try text.write(to: listFile, atomically: true, encoding: .utf8)
        }
        let expected = try String(contentsOf: listFile, encoding: .utf8)
        let (currentLines, recordedLines) = (Set(text.split(separator: "\n")), Set(expected.split(separator: "\n")))
        for line in currentLines.subtracting(recordedLines).sorted() { Issue.record("new in the public API: \(line)") }
        for line in recordedLines.subtracting(currentLines).sorted() { Issue.record("no longer in the public API: \(line)") }
        #expect(text == expected)
    }

    /// The types that a file re-exports by name, and their modules.
    private func exports(of path: String) throws -> (types: Set<Substring>, modules: Set<String>) {
        let text = try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
        let names = text.matches(of: /@_exported public import \w+ `(\w+)`\.(\w+)/).map(\.output)
        #expect(!names.isEmpty)
        return (Set(names.map(\.2)), Set(names.map { String($0.1) }))
    }

    /// The public declarations of a module. `type` is the name of the outermost type.
    private func declarations(of module: String) throws -> [(line: String, type: Substring, isOfForeignType: Bool)] {
        let foundLines = try files(of: module).flatMap { PublicDeclarations(in: $0).lines }
        // The default implementation of a protocol's requirement is not listed a second time.
        let requirements = Set(foundLines.filter { !$0.contains(": public ") })
        let lines = foundLines.filter {
            !requirements.contains($0.replacing(": public ", with: ": ", maxReplacements: 1)) || requirements.contains($0)
        }
        // `Type.Inner: public …`, and `public struct Type`.
        let memberPattern = #/^([\w\[\]]+)[.\w]*: /#
        let typePattern = #/^(?:@\w+ )*public (?:final |indirect )*\w+ (\w+)/#
        let declaredTypes = lines.compactMap { $0.firstMatch(of: typePattern)?.1 }
        return lines.map { line in
            let type = line.firstMatch(of: memberPattern)?.1 ?? line.firstMatch(of: typePattern)?.1 ?? ""
            return ("\(module)  \(line)", type, !declaredTypes.contains(type))
        }
    }

    /// The texts of the Swift files of a module.
    private func files(of module: String) throws -> [String] {
        let folder = root.appendingPathComponent("Sources/\(module)")
        let paths = try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap { $0 as? String }
        return try paths.filter { $0.hasSuffix(".swift") }.sorted().map {
            try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)
        }
    }

    @Test func declarationsAreFound() {
        let source = """
            public struct A: Sendable {
                /// public var comment
                public let x, y: Int
                var hidden = 1
                public init(
                    a: Int,  // one
                    b: Int
                ) {
                    public_call()
                }
            }
            package enum Hidden {
                public static let seen = 1
            }
            extension A {
                public func f(_ g: (Int) -> Void = { _ in }) -> Int { 1 }
            }
            public protocol P {
                associatedtype E
                func g() -> Int
            }
            public enum C {
                case a
                case b(Int)
                private func h() { switch self { case .a: break } }
            }
            """
        #expect(
            PublicDeclarations(in: source).lines == [
                "public struct A: Sendable", "A: public let x, y: Int", "A: public init( a: Int, b: Int )",
                "A: public func f(_ g: (Int) -> Void = …) -> Int", "public protocol P", "P: associatedtype E", "P: func g() -> Int",
                "public enum C", "C: case a", "C: case b(Int)",
            ])
    }
}

/// The public declarations of a file. The parser expects the indentation of swift-format: four spaces for each level.
private struct PublicDeclarations {
    private(set) var lines: [String] = []
    /// The types around the current line, with the indentation of their members.
    private var scopes: [(name: String, indent: Int, isPublic: Bool, hasPublicMembers: Bool)] = []

    init(in source: String) {
        let sourceLines = Self.unconditionalLines(of: source)
        for (index, line) in sourceLines.enumerated() {
            let indent = line.prefix { $0 == " " }.count
            let words = line.dropFirst(indent)
            guard !words.isEmpty, !words.hasPrefix("//") else { continue }
            scopes.removeAll { $0.indent > indent }
            let isMember = scopes.last.map { $0.indent == indent } ?? (indent == 0)
            guard isMember else { continue }
            let declaration = Self.declaration(from: sourceLines[index...])
            // Declarations for fuzzers and benchmarks (`@_spi`) are not a part of the public API.
            // The prefixes are much faster to compare than the pattern.
            let isPublic =
                (declaration.hasPrefix("public ") || declaration.hasPrefix("@"))
                && declaration.wholeMatch(of: /(@\w+(\(.*?\))? )*public (?!import).*/) != nil && !declaration.contains("@_spi(")
            let isImplied =
                !isPublic && scopes.last?.hasPublicMembers == true
                && declaration.prefixMatch(of: /(mutating |static |indirect )*(case|func|var|init|associatedtype|subscript)\b/) != nil
            let isVisible = scopes.allSatisfy(\.isPublic)
            if isVisible, isPublic || isImplied {
                lines.append((scopes.last.map { "\($0.name): " } ?? "") + declaration)
            }
            openScope(declaration, indent, isPublic: isPublic)
        }
    }

    /// The lines of a file. The lines within `#if` of a package trait lose their additional indentation.
    private static func unconditionalLines(of source: String) -> [String] {
        var isConditional = false
        return source.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            switch line {
            case "#if Persistence", "#if Redis", "#if Observability", "#if ServiceLifecycle": isConditional = true
            case "#endif": isConditional = false
            default: return String(isConditional ? line.dropFirst(4) : line)
            }
            return ""
        }
    }

    private mutating func openScope(_ declaration: String, _ indent: Int, isPublic: Bool) {
        guard let match = declaration.firstMatch(of: /\b(struct|class|enum|protocol|extension|actor) ([\w.\[\]]+)/) else { return }
        let kind = String(match.1)
        // A member of an extension is public only if it says so.
        let isVisible = isPublic || kind == "extension"
        let outer = scopes.last.map { "\($0.name)." } ?? ""
        scopes.append(
            (outer + String(match.2), indent + 4, isVisible, isPublic && (kind == "protocol" || kind == "enum")))
    }

    /// The declaration that begins in the first line, joined to one line, without its body and the bodies of closures.
    private static func declaration(from lines: ArraySlice<String>) -> String {
        var text = ""
        var depth = 0
        for line in lines {
            var words = line.drop { $0 == " " }
            if let comment = words.range(of: "  //") { words = words[..<comment.lowerBound] }
            if !text.isEmpty { text += " " }
            for character in words {
                switch character {
                case "(", "[": depth += 1
                case ")", "]": depth -= 1
                case "{" where depth == 0:
                    return trimmed(text)
                default: break
                }
                text.append(character)
            }
            if depth <= 0 { return trimmed(text) }
        }
        return trimmed(text)
    }

    private static func trimmed(_ text: String) -> String {
        var text = text
        // A closure that is a default value is replaced by `…`.
        while let start = text.firstIndex(of: "{"), let end = text[start...].firstIndex(of: "}") {
            text.replaceSubrange(start...end, with: "…")
        }
        while text.last == " " { text.removeLast() }
        return text
    }
}
