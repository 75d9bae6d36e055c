// SPDX-License-Identifier: Apache-2.0

/// What is asked for, copied from what the host lends. The host has parsed it: no plugin parses a URL.
public final class PluginRequest: Sendable {
    /// The method; case matters.
    public let method: String
    /// Absolute, as asked, with user information, which is a secret: for messages take ``urlWithoutUser(query:)``.
    public let url: String
    /// In lower case.
    public let scheme: String
    public let user, password: String?
    /// In lower case; `nil` where the URL has no authority.
    public let host: String?
    public let port: Int?
    /// Percent-encoded, as are ``query`` and ``fragment``. Of `echo:text?…` it is `text`.
    public let path: String
    public let query, fragment: String?
    public let fields: [PluginField]
    public let properties: [(name: String, value: PluginPropertyValue)]
    /// How many bytes the body has: 0 without one, `nil` where that is not known.
    public let bodyLength: Int64?
    /// How long the load may stand still; `nil` without limit. The host keeps the time.
    public let timeout: Duration?
    /// A load that fails may be tried again without asking (RFC 9110 §9.2.1).
    public let isMethodSafe: Bool
    /// 0 is normal, a higher number goes first.
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

    /// The URL without user and password, and with another query where one is given.
    public func urlWithoutUser(query other: String? = nil) -> String {
        var url = scheme + ":"
        if let host { url += "//" + host + (port.map { ":\($0)" } ?? "") } else if path.hasPrefix("//") { url += "/." }
        url += path
        if let query = other ?? query { url += "?" + query }
        if let fragment { url += "#" + fragment }
        return url
    }

    /// All that follows `scheme:`, without a fragment: what a layered handler (`gzip:URL`) loads inside.
    public var inner: String {
        let rest = url.utf8.dropFirst(scheme.utf8.count + 1)
        let kept = rest.dropLast(fragment.map { $0.utf8.count + 1 } ?? 0)
        return String(decoding: Array(kept), as: UTF8.self)
    }

    /// The value of the first field of that name, in whatever case.
    public func field(_ name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }

    /// The value of a property; `nil` where the caller did not set it.
    ///
    /// - Throws: ``PluginError/Code/badRequest`` with its name, where it is of another kind (PROP-02).
    public func value<Value>(of property: PluginProperty<Value>) throws -> Value? {
        guard let found = properties.first(where: { $0.name == property.name }) else { return nil }
        guard let value = Value(found.value) else {
            throw PluginError(.badRequest, message: "the property \(property.name) is to be \(Value.kindName)")
        }
        return value
    }
}
