// SPDX-License-Identifier: Apache-2.0

package import CPortolan
import HTTPTypes
package import PortolanCore

extension Request {
    /// Does the same as ``applying(_:)`` for a nested load of the conformance checks.
    ///
    /// - Throws: ``LoadError/Code/protocolViolation``
    package func nested(_ change: UnsafePointer<portolan_change>, of handler: String) throws(LoadError) -> Request {
        do throws(ContractViolation) {
            return try unsafe applying(change)
        } catch {
            throw LoadError(error, by: handler)
        }
    }

    /// Returns this request with a plugin's changes. Everything else stays, including `visitedHandlers` and unknown
    /// properties.
    ///
    /// If the origin of the URL changes, removes the credentials, except those that the change contains.
    ///
    /// - Throws: DESC-05, REDIR-01, SEC-08 or PROP-02.
    func applying(_ pointer: UnsafePointer<portolan_change>?) throws(ContractViolation) -> Request {
        try unsafe applying(portolan_change.read(pointer))
    }

    /// - Parameter target: the new URL, in place of the URL in `change`.
    func applying(_ change: portolan_change, target: URLRecord? = nil) throws(ContractViolation) -> Request {
        var result = self
        if let target {
            result.move(to: target)
        } else if unsafe change.url.isPresent {
            result.move(to: try unsafe URLRecord(reading: change.url, "the URL of the changed request"))
        }
        if let method = unsafe change.method.isPresent ? change.method.repairedText : nil {
            guard let method = HTTPRequest.Method(method) else {
                throw ContractViolation(.fieldsAreWellFormed, "the method '\(Text.oneLine(method, limit: 80))' is not a token")
            }
            result.method = method
        }
        if unsafe change.drops_body != 0 { result.dropBody() }
        if unsafe change.drops_fields != 0 { result.fields = [:] }
        try unsafe result.replaceFields(UnsafeBufferPointer(start: change.fields, counted: change.field_count, "fields"))
        try unsafe result.replaceProperties(UnsafeBufferPointer(start: change.properties, counted: change.property_count, "properties"))
        return result
    }

    /// The fields that contain credentials.
    private static let credentialFields: [HTTPField.Name] = [.authorization, .cookie, .proxyAuthorization]

    private mutating func move(to newURL: URLRecord) {
        let isOtherOrigin = !newURL.hasSameOrigin(as: url)
        let carriesCredentials =
            isOtherOrigin && url.hasCredentials && newURL.username == url.username && newURL.password == url.password
        url = carriesCredentials ? newURL.withoutCredentials : newURL
        if isOtherOrigin {
            for name in Self.credentialFields { fields[name] = nil }
        }
    }

    private mutating func dropBody() {
        body = nil
        for name in Self.bodyFields + [.transferEncoding] { fields[name] = nil }
    }

    /// Replaces fields. First removes the old fields of all changed names, so that two new values of one name are both
    /// kept.
    private mutating func replaceFields(_ changes: UnsafeBufferPointer<portolan_field>) throws(ContractViolation) {
        try HTTPFields.checkCount(changes.count)
        var names: [HTTPField.Name] = []
        try unsafe changes.forEachElement { change throws(ContractViolation) in
            names.append(try unsafe HTTPField.Name(reading: change.name))
        }
        let replacedNames = Set(names)
        fields = HTTPFields(fields.filter { !replacedNames.contains($0.name) })
        try unsafe changes.forEachElement { change throws(ContractViolation) in
            guard unsafe change.value.isPresent else { return }
            fields.append(try unsafe HTTPField(name: HTTPField.Name(reading: change.name), reading: change.value))
        }
    }

    private mutating func replaceProperties(_ changes: UnsafeBufferPointer<portolan_property>) throws(ContractViolation) {
        try unsafe changes.forEachElement { change throws(ContractViolation) in
            guard let name = unsafe change.name.text, !name.isEmpty else {
                throw ContractViolation(.propertyIsWellFormed, "the name of a property is absent, empty or not UTF-8")
            }
            properties[name] = try unsafe PropertyValue(reading: change, name: name)
        }
    }
}

extension PropertyValue {
    /// `nil` for kind 0, which removes the property.
    fileprivate init?(reading property: portolan_property, name: String) throws(ContractViolation) {
        switch unsafe property.kind {
        case portolan_kind(0): return nil
        case PORTOLAN_KIND_TEXT:
            guard let text = unsafe property.bytes.text else {
                throw ContractViolation(
                    .propertyIsWellFormed, "the property '\(name)' has the kind text, but its value is absent or not UTF-8")
            }
            self = .text(text)
        case PORTOLAN_KIND_BYTES: self = try unsafe .bytes(property.bytes.copyBytes("the property '\(name)'"))
        case PORTOLAN_KIND_INTEGER: self = unsafe .integer(property.integer)
        case PORTOLAN_KIND_REAL: self = unsafe .real(property.real)
        case PORTOLAN_KIND_TRUTH: self = unsafe .boolean(property.integer != 0)
        default:
            throw unsafe ContractViolation(
                .propertyIsWellFormed, "the property '\(name)' has the kind \(property.kind.rawValue), which does not exist")
        }
    }
}
