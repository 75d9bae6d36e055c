// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// A field as the plugin gave it.
struct ReadField: Hashable, Sendable {
    let name, value: ReadText

    /// The fields at `start`; `nil` if they cannot be read, or are more than any message has.
    static func list(_ start: UnsafePointer<portolan_field>?, _ count: Int) -> [Self]? {
        unsafe ReadStruct.list(start, count, atMost: 1 << 16) { unsafe Self(name: ReadText($0.name), value: ReadText($0.value)) }
    }
}

/// A response as the plugin gave it.
struct ReadResponse: Hashable, Sendable, CompletenessChecking {
    let status: Int32
    let url, mimeType, charset, name: ReadText
    /// -1 if the length is unknown.
    let expectedLength: Int64
    var fields: [ReadField]?
    let storage: Int32

    var unreadable: [String] {
        let texts = [("the URL", url), ("the MIME type", mimeType), ("the charset", charset), ("the suggested name", name)]
        let fieldParts = fields.map { $0.contains { $0.name.isUnreadable || $0.value.isUnreadable } ? ["the text of a field"] : [] }
        return texts.filter { $1.isUnreadable }.map(\.0) + (fieldParts ?? ["the list of fields"])
    }

    init(_ response: portolan_response) {
        unsafe (status, storage) = (response.status, response.storage.rawValue)
        unsafe expectedLength = response.expected_length == 0 ? response.knownLength ?? -1 : response.expected_length
        unsafe (url, mimeType) = (ReadText(response.url), ReadText(response.mime_type))
        unsafe (charset, name) = (ReadText(response.text_encoding), ReadText(response.suggested_name))
        unsafe fields = ReadField.list(response.fields, response.field_count)
    }
}

/// An error as the plugin gave it.
struct ReadError: Hashable, Sendable, CompletenessChecking {
    let code: Int32
    let domain, message: ReadText
    /// The causes of the error, nearest first.
    let causes: [Cause]
    /// Whether the list of causes ends at a structure that is too short, or cannot be read.
    let hasBrokenCause: Bool
    /// The size of a cause that is too large.
    let sizeOfLargePart: UInt32?

    var unreadable: [String] {
        var unreadableParts = [("the domain", domain), ("the message", message)].filter { $1.isUnreadable }.map(\.0)
        if hasBrokenCause || causes.contains(where: { $0.domain.isUnreadable || $0.message.isUnreadable }) {
            unreadableParts.append("a cause")
        }
        return unreadableParts
    }

    struct Cause: Hashable, Sendable {
        let code: Int32
        let domain, message: ReadText
    }

    init(_ error: portolan_error) {
        unsafe (code, domain, message) = (error.code, ReadText(error.domain), ReadText(error.message))
        var causes: [Cause] = []
        var (next, isBroken, largeSize) = unsafe (error.cause, false, UInt32?.none)
        while causes.count < 8, !isBroken, unsafe next != nil {
            let readCause = unsafe ReadStruct(next) { unsafe ($0.code, ReadText($0.domain), ReadText($0.message), $0.cause) }
            if case .large(let size, _) = unsafe readCause { largeSize = largeSize ?? size }
            guard let cause = unsafe readCause.value else {
                isBroken = true
                continue
            }
            unsafe causes.append(Cause(code: cause.0, domain: cause.1, message: cause.2))
            unsafe next = cause.3
        }
        (self.causes, hasBrokenCause, sizeOfLargePart) = (causes, isBroken, largeSize)
    }
}

/// A change of a request as the plugin gave it.
struct ReadChange: Hashable, Sendable, CompletenessChecking {
    let url, method: ReadText
    let fields: [ReadField]?
    let dropsBody, dropsFields: Bool
    /// The names of the properties that the change replaces or removes; `nil` if the list cannot be read.
    let propertyNames: [ReadText]?
    /// Whether a property's name or bytes cannot be read.
    let hasBrokenProperty: Bool
    let isReservedZero: Bool

    var unreadable: [String] {
        var unreadableParts = [("the URL", url), ("the method", method)].filter { $1.isUnreadable }.map(\.0)
        if let fields {
            if fields.contains(where: { $0.name.isUnreadable || $0.value.isUnreadable }) { unreadableParts.append("the text of a field") }
        } else {
            unreadableParts.append("the list of fields")
        }
        if propertyNames == nil { unreadableParts.append("the list of properties") }
        if hasBrokenProperty { unreadableParts.append("a property") }
        return unreadableParts
    }

    init(_ change: portolan_change) {
        unsafe (url, method) = (ReadText(change.url), ReadText(change.method))
        unsafe fields = ReadField.list(change.fields, change.field_count)
        unsafe (dropsBody, dropsFields) = (change.drops_body != 0, change.drops_fields != 0)
        let properties = unsafe ReadStruct.list(change.properties, change.property_count, atMost: 1 << 16) { property in
            let hasBytes = unsafe [PORTOLAN_KIND_TEXT, PORTOLAN_KIND_BYTES].contains(property.kind)
            let isBroken = unsafe hasBytes && ReadText(property.bytes).isUnreadable
            return unsafe (name: ReadText(property.name), isBroken: isBroken, reserved: property.reserved)
        }
        isReservedZero = unsafe change.reserved == 0 && properties?.allSatisfy { $0.reserved == 0 } ?? true
        propertyNames = properties?.map(\.name)
        hasBrokenProperty = properties?.contains { $0.isBroken || $0.name.isUnreadable } ?? false
    }
}

/// A challenge as the plugin gave it.
struct ReadChallenge: Hashable, Sendable, CompletenessChecking {
    let method, port, failureCount: Int32
    let isProxy: Bool
    let protocolName, host, realm, scheme: ReadText
    /// Why the last answer failed.
    let previous: ReadStruct<ReadError>
    /// The certificates or issuers; `nil` if the list cannot be read.
    let certificates: [ReadText]?
    let isReservedZero: Bool

    var unreadable: [String] {
        let texts = [("the protocol", protocolName), ("the host", host), ("the realm", realm), ("the scheme", scheme)]
        var unreadableParts = texts.filter { $1.isUnreadable }.map(\.0)
        if certificates?.contains(where: \.isUnreadable) ?? true { unreadableParts.append("the list of certificates") }
        switch previous {
        case .missing: break
        case .short, .unreadable: unreadableParts.append("the previous error")
        case .whole(let error), .large(_, let error): unreadableParts += error.unreadable.map { "\($0) of the previous error" }
        }
        return unreadableParts
    }

    init(_ challenge: portolan_challenge) {
        unsafe (method, port, failureCount) = (challenge.method.rawValue, challenge.port, challenge.failure_count)
        unsafe (isProxy, isReservedZero) = (challenge.is_proxy != 0, challenge.reserved == 0)
        unsafe (protocolName, host, realm) = (ReadText(challenge.protocol), ReadText(challenge.host), ReadText(challenge.realm))
        unsafe (scheme, previous) = (ReadText(challenge.scheme), ReadStruct(challenge.previous, ReadError.init))
        certificates = unsafe ReadStruct.list(challenge.certificates, challenge.certificate_count, atMost: 1 << 12) { unsafe ReadText($0) }
    }
}
