// SPDX-License-Identifier: Apache-2.0

/// The differences between a request and the load's own request. Describes the target of a redirect, the request of a
/// nested load or the canonical form of a request.
///
/// Everything else stays the same, including properties that the plugin does not know.
public struct PluginChange: Sendable {
    /// Absolute; `nil` keeps the URL.
    public var url: String?
    public var method: String?
    /// Each element replaces all fields of its name; `nil` removes them. Two elements of the same name are both added.
    public var fields: [(name: String, value: String?)]
    /// Each element replaces the property of its name; `nil` removes it.
    public var properties: [(name: String, value: PluginPropertyValue?)]
    /// Whether the new request has no body.
    public var dropsBody: Bool
    /// Whether to remove all fields except ``fields``. For a layered handler, whose `Range` and `If-…` do not apply to
    /// the inner resource.
    public var dropsFields: Bool

    public init(
        url: String? = nil, method: String? = nil, fields: [(name: String, value: String?)] = [],
        properties: [(name: String, value: PluginPropertyValue?)] = [], dropsBody: Bool = false, dropsFields: Bool = false
    ) {
        self.url = url
        self.method = method
        self.fields = fields
        self.properties = properties
        self.dropsBody = dropsBody
        self.dropsFields = dropsFields
    }

    /// The request of a layered handler: `url` without the outer request's fields and body.
    public static func inner(_ url: String) -> Self { Self(url: url, dropsBody: true, dropsFields: true) }
}

extension PluginChange {
    /// - Throws: ``PluginError/Code/badRequest`` if the host would end the load (SEC-01, SEC-08).
    func check() throws(PluginError) {
        if let method, !Syntax.isToken(method) {
            throw PluginError(.badRequest, message: "the method '\(Syntax.oneLine(String(method.prefix(80))))' is not a token")
        }
        for field in fields where !PluginField(name: field.name, value: field.value ?? "").isWellFormed {
            throw PluginError(.badRequest, message: "the field '\(Syntax.oneLine(String(field.name.prefix(80))))' is malformed")
        }
        for property in properties where !Syntax.isReverseDNS(property.name) || property.value == .other {
            throw PluginError(
                .badRequest,
                message: "the property '\(Syntax.oneLine(String(property.name.prefix(80))))' is malformed; name it in reverse DNS")
        }
    }
}
