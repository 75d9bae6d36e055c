// SPDX-License-Identifier: Apache-2.0

/// How a request differs from the load's own: where a redirect leads, what a load inside asks for, what the canonical form is. All that is not
/// named stays, properties that the plugin never heard of too.
public struct PluginChange: Sendable {
    /// Absolute; `nil`: the same.
    public var url: String?
    public var method: String?
    /// Each replaces all of its name, and `nil` removes them. Two of the same name are both kept.
    public var fields: [(name: String, value: String?)]
    /// Each replaces the one of its name, and `nil` removes it.
    public var properties: [(name: String, value: PluginPropertyValue?)]
    /// The new request has no body.
    public var dropsBody: Bool
    /// No field stays but those in ``fields``. For a layered handler, whose `Range` and `If-…` do not mean the resource inside.
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

    /// The request of a layered handler: that URL, without the outer one's fields and body.
    public static func inner(_ url: String) -> Self { Self(url: url, dropsBody: true, dropsFields: true) }
}

extension PluginChange {
    /// - Throws: ``PluginError/Code/badRequest``, where the host would end the load (SEC-01, SEC-08).
    func check() throws(PluginError) {
        if let method, !Syntax.isToken(method) {
            throw PluginError(.badRequest, message: "the method '\(Syntax.oneLine(String(method.prefix(80))))' is no token")
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
