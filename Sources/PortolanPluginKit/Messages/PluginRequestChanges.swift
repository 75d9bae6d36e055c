// SPDX-License-Identifier: Apache-2.0

/// Changes of a load's request. They describe the target of a redirect, the request of a nested load, or the canonical
/// form of a request.
///
/// Everything else stays the same, including properties that the plugin does not know.
public struct PluginRequestChanges: Sendable {
    /// An absolute URL. `nil` keeps the URL.
    public var url: String?
    /// `nil` keeps the method.
    public var method: String?
    /// Each element replaces all fields of its name, or removes them if its value is `nil`. Two elements of the same
    /// name give two fields.
    public var fields: [(name: String, value: String?)]
    /// Each element replaces the property of its name, or removes it if its value is `nil`.
    public var properties: [(name: String, value: PluginPropertyValue?)]
    /// Whether the new request has no body.
    public var dropsBody: Bool
    /// Whether to remove all fields except ``fields``. Layered handlers set it, because `Range` and `If-…` do not apply
    /// to the nested resource.
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

    /// The changes for the nested load of a layered handler: GET of another URL, and no fields and body of the load's
    /// request. With the load's own method, a HEAD request would find no body to decode. If you pass the body on, set
    /// the method, too.
    public static func nested(_ url: String) -> Self { Self(url: url, method: "GET", dropsBody: true, dropsFields: true) }
}

extension PluginRequestChanges {
    /// - Throws: ``PluginError/Code/badRequest`` if the method or a field is malformed (SEC-01, SEC-08), or if a
    ///   property is not named in reverse DNS or has the value `other`.
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
