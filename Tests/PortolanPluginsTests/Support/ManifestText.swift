// SPDX-License-Identifier: Apache-2.0

/// Builds the text of a valid manifest with members added or removed.
enum ManifestText {
    private static let validMembers = [
        ("identifier", "\"org.portolan.x\""), ("name", "\"X\""), ("vendor", "\"V\""), ("version", "\"1.0.0\""), ("library", "\"x.so\""),
        ("schemes", "[\"x\"]"),
    ]

    /// - Parameter changes: members as JSON; `nil` removes a member.
    static func with(_ changes: [String: String?] = [:]) -> String {
        let unchanged = validMembers.filter { changes[$0.0] == nil }
        let added = changes.sorted { $0.key < $1.key }.compactMap { name, value in value.map { (name, $0) } }
        return "{\n" + (unchanged + added).map { "  \"\($0.0)\": \($0.1)" }.joined(separator: ",\n") + "\n}\n"
    }

    /// A manifest with one setting called `s`.
    static func setting(_ json: String) -> String { with(["settings": "{\"s\": \(json)}"]) }

    /// A manifest with one load in its conformance section.
    static func load(_ json: String) -> String { with(["conformance": "{\"loads\": [\(json)]}"]) }

    /// The manifest of a plugin whose library is a copy of a fixture. Without a scheme, the plugin is for any scheme.
    ///
    /// - Parameters:
    ///   - schemes: the schemes as JSON, instead of `scheme`.
    ///   - more: further members as JSON; `nil` removes a member.
    static func of(
        _ identifier: String, scheme: String? = nil, schemes: String? = nil, library: String = "plugin.so", more: [String: String?] = [:]
    ) -> String {
        let schemes = schemes ?? scheme.map { "[\"\($0)\"]" } ?? "\"any\""
        return with(["identifier": "\"\(identifier)\"", "schemes": schemes, "library": "\"\(library)\""].merging(more) { $1 })
    }

    /// The manifest of the fixture `template`.
    static func template(_ more: [String: String?] = [:]) -> String {
        of("org.portolan.template", scheme: "template", more: ["settings": "{\"greeting\": {\"type\": \"string\"}}"].merging(more) { $1 })
    }
}
