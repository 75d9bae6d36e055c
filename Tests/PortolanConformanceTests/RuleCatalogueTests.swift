// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanConformance
import Testing

/// The rule catalogue, the C headers, the host and the documentation name the same rules.
@Suite struct RuleCatalogueTests {
    @Test func idsAreUniqueAndInTheirCategory() {
        let rules = RuleCatalogue.rules
        #expect(Set(rules.map(\.id)).count == rules.count)
        for category in RuleCatalogue.categories {
            for (index, rule) in category.rules.enumerated() {
                #expect(rule.id == "\(category.id)-\(index < 9 ? "0" : "")\(index + 1)")
            }
        }
    }

    @Test func everyRuleHasSentenceReasonAndRemedy() {
        for rule in RuleCatalogue.rules {
            #expect((1...5).contains(rule.level), "\(rule)")
            for text in [rule.sentence, rule.reason, rule.remedy] {
                #expect(text.count > 10 && text.hasSuffix(".") && !text.contains("\n"), "\(rule): \(text)")
            }
        }
    }

    @Test func everyIDInTheHeadersExists() throws {
        var count = 0
        for file in try ConformanceRepository.files(under: "Sources/CPortolan/include", ending: ".h") {
            for id in try Self.ids(in: ConformanceRepository.text(of: file)) {
                count += 1
                #expect(RuleCatalogue.rule(id) != nil, "\(id) in \(file)")
            }
        }
        #expect(count > 100)
    }

    /// The catalogue has the headers and the declarations of each rule, for `check --explain`.
    @Test func headerPlacesMatchTheHeaders() throws {
        var headersByID: [String: Set<String>] = [:]
        for file in try ConformanceRepository.files(under: "Sources/CPortolan/include/portolan", ending: ".h") {
            let name = "portolan/\(file.split(separator: "/").last ?? "")"
            for id in try Self.ids(in: ConformanceRepository.text(of: file)) { headersByID[id, default: []].insert(name) }
        }
        for rule in RuleCatalogue.rules {
            let headers = Set(rule.headerPlaces.map { String($0.prefix { $0 != ":" }) })
            #expect(headers == headersByID[rule.id] ?? [], "\(rule)")
            for place in rule.headerPlaces {
                let parts = place.split(separator: ":", maxSplits: 1)
                // A place without a declaration is the comment of a whole header.
                guard parts.count == 2 else { continue }
                let declaration = try #require(parts.last).split(separator: ".").last?.trimmingCharacters(in: .whitespaces) ?? "?"
                let text = try ConformanceRepository.text(of: "Sources/CPortolan/include/\(parts[0])")
                #expect(text.contains(declaration), "\(place)")
            }
        }
    }

    @Test(arguments: ["Plugins", "Tests/PluginFixtures", "docs"])
    func everyIDInTheRepositoryExists(folder: String) throws {
        let categories = Set(RuleCatalogue.categories.map(\.id))
        for file in try ConformanceRepository.files(under: folder, ending: "")
        where ["c", "h", "md", "swift"].contains(where: { file.hasSuffix(".\($0)") }) {
            for id in try Self.ids(in: ConformanceRepository.text(of: file)) where categories.contains(String(id.prefix { $0 != "-" })) {
                #expect(RuleCatalogue.rule(id) != nil, "\(id) in \(file)")
            }
        }
    }

    @Test func sourcesOfTheHostNameEveryRuleThatTheHostEnforces() throws {
        var namedIDs: Set<String> = []
        for folder in ["PortolanCore", "PortolanPlugins", "PortolanBinding"] {
            for file in try ConformanceRepository.files(under: "Sources/\(folder)", ending: ".swift") {
                namedIDs.formUnion(try Self.ids(in: ConformanceRepository.text(of: file)))
            }
        }
        for rule in RuleCatalogue.rules where rule.isEnforced { #expect(namedIDs.contains(rule.id), "\(rule)") }
    }

    @Test func everyRuleTheHostReportsIsMarkedAsEnforced() throws {
        var count = 0
        for folder in ["PortolanCore", "PortolanPlugins", "PortolanBinding"] {
            for file in try ConformanceRepository.files(under: "Sources/\(folder)", ending: ".swift") {
                for line in try ConformanceRepository.text(of: file).split(separator: "\n") where line.contains("= Self(id: \"") {
                    let id = try #require(try Self.ids(in: String(line)).first)
                    count += 1
                    #expect(RuleCatalogue.rule(id)?.isEnforced == true, "\(id) in \(file)")
                }
            }
        }
        #expect(count > 30)
    }

    @Test func conformancePageMatchesTheCatalogue() throws {
        try ConformanceRepository.expect(RulePage.markdown, in: "docs/conformance.md")
    }

    /// Each rule ID such as `ABC-12` in the text, and all IDs of a range such as `ABC-12 to ABC-15`.
    static func ids(in text: String) throws -> [String] {
        try text.matches(
            of: Regex(
                #"\b([A-Z]{2,})-(\d\d)(?: to ([A-Z]{2,})-(\d\d))?\b"#, as: (Substring, Substring, Substring, Substring?, Substring?).self)
        )
        .flatMap { match -> [String] in
            let (_, category, firstText, _, lastText) = match.output
            guard let first = Int(firstText), let last = lastText.map({ Int($0) }) ?? first, first <= last else { return [] }
            return (first...last).map { "\(category)-\($0 < 10 ? "0" : "")\($0)" }
        }
    }
}
