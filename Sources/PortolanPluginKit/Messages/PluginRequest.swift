// SPDX-License-Identifier: Apache-2.0

/// The request of a load, copied from the host. The host has parsed the URL, so a plugin does not need a URL parser.
public final class PluginRequest: Sendable {
    /// Case-sensitive.
    public let method: String
    /// The absolute URL of the request. It can include a user and a password, so use ``urlWithoutUser(query:)`` in
    /// messages.
    public let url: String
    /// In lower case.
    public let scheme: String
    public let user, password: String?
    /// In lower case and percent-encoded. `nil` if the URL has no authority.
    public let host: String?
    public let port: Int?
    /// Percent-encoded, as are ``query`` and ``fragment``. For `echo:text?…`, it is `text`. See ``decodedPath()``.
    public let path: String
    public let query, fragment: String?
    public let fields: [PluginField]
    public let properties: [(name: String, value: PluginPropertyValue)]
    /// The length of the upload body in bytes: 0 if there is no body, `nil` if the length is unknown.
    public let bodyLength: Int64?
    /// The idle timeout of the load, which the host enforces. `nil` if there is no limit.
    public let timeout: Duration?
    /// Whether the method is safe, so that a plugin can repeat a failed request (RFC 9110 §9.2.1).
    public let isMethodSafe: Bool
    /// 0 is normal. Requests with a higher number go first.
    public let priority: Int32

    init(
        method: String, url: String, scheme: String, user: String?, password: String?, host: String?, port: Int?, path: String,
        query: String?, fragment: String?, fields: [PluginField], properties: [(name: String, value: PluginPropertyValue)],
        bodyLength: Int64?, timeout: Duration?, isMethodSafe: Bool, priority: Int32
    ) {
        self.method = method
        self.url = url
        self.scheme = scheme
        self.user = user
        self.password = password
        self.host = host
        self.port = port
        self.path = path
        self.query = query
        self.fragment = fragment
        self.fields = fields
        self.properties = properties
        self.bodyLength = bodyLength
        self.timeout = timeout
        self.isMethodSafe = isMethodSafe
        self.priority = priority
    }

    /// Returns the URL without user and password, and with another query if `query` is given.
    public func urlWithoutUser(query newQuery: String? = nil) -> String {
        var url = scheme + ":"
        if let host { url += "//" + host + (port.map { ":\($0)" } ?? "") } else if path.hasPrefix("//") { url += "/." }
        url += path
        if let query = newQuery ?? query { url += "?" + query }
        if let fragment { url += "#" + fragment }
        return url
    }

    /// The URL after `scheme:`, without the fragment. A layered handler (`gzip:URL`) loads this URL.
    public var nestedURL: String {
        let afterScheme = url.utf8.dropFirst(scheme.utf8.count + 1)
        let withoutFragment = afterScheme.dropLast(fragment.map { $0.utf8.count + 1 } ?? 0)
        return String(decoding: Array(withoutFragment), as: UTF8.self)
    }

    /// Returns the value of the first field with this name. Case-insensitive.
    public func field(_ name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }

    /// Returns the value of a property. `nil` if the caller did not set it.
    ///
    /// - Throws: ``PluginError/Code/badRequest`` with the property's name if the value has another kind (PROP-02).
    public func value<Value>(of property: PluginProperty<Value>) throws -> Value? {
        guard let element = properties.first(where: { $0.name == property.name }) else { return nil }
        guard let value = Value(element.value) else {
            throw PluginError(.badRequest, message: "the property \(property.name) must be \(Value.kindName)")
        }
        return value
    }
}
