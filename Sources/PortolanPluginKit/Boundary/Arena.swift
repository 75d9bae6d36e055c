// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// Makes C values from the kit's values. Owns the memory of the C values, which the host borrows during one call, and
/// frees it in `deinit`.
@safe
final class Arena {
    private var blocks: [UnsafeMutableRawPointer] = unsafe []

    init() {}

    deinit {
        for index in unsafe blocks.indices { unsafe blocks[index].deallocate() }
    }

    /// Copies a text. `nil` gives an absent string.
    func string(_ text: String?) -> portolan_string {
        guard var text else { return unsafe portolan_string() }
        return text.withUTF8 { unsafe string(UnsafeRawBufferPointer($0)) }
    }

    private func string(_ bytes: UnsafeRawBufferPointer) -> portolan_string {
        // Allocates at least one byte, because a NULL pointer means that the string is absent, not that it is empty.
        let block = unsafe allocate(byteCount: bytes.count + 1, alignment: 1)
        unsafe UnsafeMutableRawBufferPointer(start: block, count: bytes.count).copyMemory(from: bytes)
        return unsafe portolan_string(bytes: UnsafePointer(block.assumingMemoryBound(to: CChar.self)), length: bytes.count)
    }

    func bytes(_ bytes: [UInt8]) -> portolan_string {
        unsafe bytes.withUnsafeBytes { unsafe string($0) }
    }

    /// Encodes a field's value in ISO-8859-1: one byte for each character. The check of fields has refused characters
    /// beyond U+00FF.
    private func latin1(_ text: String) -> portolan_string {
        text.utf8.allSatisfy { $0 < 128 }
            ? unsafe string(text) : unsafe bytes(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
    }

    /// Makes a list of C values. `nil` for an empty array.
    func list<Element, CValue>(_ elements: [Element], _ makeCValue: (Element) -> CValue) -> UnsafePointer<CValue>? {
        guard !elements.isEmpty else { return nil }
        let block = unsafe allocate(byteCount: elements.count * MemoryLayout<CValue>.stride, alignment: MemoryLayout<CValue>.alignment)
        let list = unsafe block.bindMemory(to: CValue.self, capacity: elements.count)
        for (index, element) in elements.enumerated() { unsafe (list + index).initialize(to: makeCValue(element)) }
        return unsafe UnsafePointer(list)
    }

    func fields(_ fields: [PluginField]) -> UnsafePointer<portolan_field>? {
        unsafe list(fields) { unsafe portolan_field(name: string($0.name), value: latin1($0.value)) }
    }

    func strings(_ list: [[UInt8]]) -> UnsafePointer<portolan_string>? {
        unsafe self.list(list) { unsafe bytes($0) }
    }

    func response(_ response: PluginResponse) -> portolan_response {
        var cValue = unsafe portolan_response()
        unsafe cValue.size = UInt32(MemoryLayout<portolan_response>.size)
        unsafe cValue.status = response.status
        unsafe cValue.url = string(response.url)
        unsafe cValue.mime_type = string(response.mimeType)
        unsafe cValue.text_encoding = string(response.textEncoding)
        unsafe cValue.suggested_name = string(response.suggestedName)
        unsafe (cValue.expected_length, cValue.has_length) = (response.expectedLength ?? -1, response.expectedLength == nil ? 0 : 1)
        unsafe cValue.fields = fields(response.fields)
        unsafe cValue.field_count = response.fields.count
        unsafe cValue.storage = portolan_storage(rawValue: response.storage.rawValue)
        return unsafe cValue
    }

    /// Encodes an error with its causes. ``PluginError`` limits their number.
    func error(_ error: PluginError) -> portolan_error {
        var cValue = unsafe portolan_error()
        var cause: UnsafePointer<portolan_error>?
        for error in error.fromRoot {
            unsafe cValue = errorWithoutCause(error)
            unsafe cValue.cause = unsafe cause
            unsafe cause = list([error]) { _ in unsafe cValue }
        }
        return unsafe cValue
    }

    private func errorWithoutCause(_ error: PluginError) -> portolan_error {
        let domain = error.domain.flatMap { Syntax.isReverseDNS($0) ? $0 : nil }
        // Without a domain, the host accepts only published codes that are not reserved for the host (ERR-03).
        let number = error.code.rawValue
        let isPublished = PluginError.Code.published.contains(number) && !PluginError.Code.hostOnly.contains(number)
        var cValue = unsafe portolan_error()
        unsafe cValue.size = UInt32(MemoryLayout<portolan_error>.size)
        unsafe cValue.code = domain != nil || isPublished ? error.code.rawValue : PluginError.Code.unknown.rawValue
        unsafe cValue.domain = string(domain)
        unsafe cValue.message = string(Syntax.oneLine(error.message))
        return unsafe cValue
    }

    func changes(_ changes: PluginRequestChanges) -> portolan_change {
        var cValue = unsafe portolan_change()
        unsafe cValue.size = UInt32(MemoryLayout<portolan_change>.size)
        unsafe cValue.drops_body = changes.dropsBody ? 1 : 0
        unsafe cValue.url = string(changes.url)
        unsafe cValue.method = string(changes.method)
        unsafe cValue.fields = list(changes.fields) { field in
            unsafe portolan_field(name: string(field.name), value: field.value.map { unsafe latin1($0) } ?? portolan_string())
        }
        unsafe cValue.field_count = changes.fields.count
        unsafe cValue.properties = list(changes.properties) { unsafe property($0.name, $0.value) }
        unsafe cValue.property_count = changes.properties.count
        unsafe cValue.drops_fields = changes.dropsFields ? 1 : 0
        return unsafe cValue
    }

    private func property(_ name: String, _ value: PluginPropertyValue?) -> portolan_property {
        var cValue = unsafe portolan_property()
        unsafe cValue.name = string(name)
        switch value {
        case .text(let text)?: unsafe (cValue.kind, cValue.bytes) = (PORTOLAN_KIND_TEXT, string(text))
        case .bytes(let bytes)?: unsafe (cValue.kind, cValue.bytes) = (PORTOLAN_KIND_BYTES, self.bytes(bytes))
        case .integer(let integer)?: unsafe (cValue.kind, cValue.integer) = (PORTOLAN_KIND_INTEGER, integer)
        case .real(let real)?: unsafe (cValue.kind, cValue.real) = (PORTOLAN_KIND_REAL, real)
        case .boolean(let boolean)?: unsafe (cValue.kind, cValue.integer) = (PORTOLAN_KIND_TRUTH, boolean ? 1 : 0)
        case .other?, nil: break  // kind 0 removes the property
        }
        return unsafe cValue
    }

    func challenge(_ challenge: PluginChallenge) -> portolan_challenge {
        var cValue = unsafe portolan_challenge()
        unsafe cValue.size = UInt32(MemoryLayout<portolan_challenge>.size)
        var certificates: [[UInt8]] = []
        switch challenge.method {
        case .password(let scheme): unsafe (cValue.method, cValue.scheme) = (PORTOLAN_ASK_PASSWORD, string(scheme))
        case .clientCertificate(let issuers): unsafe (cValue.method, certificates) = (PORTOLAN_ASK_CLIENT_CERTIFICATE, issuers)
        case .serverTrust(let chain): unsafe (cValue.method, certificates) = (PORTOLAN_ASK_SERVER_TRUST, chain)
        }
        unsafe cValue.protocol = string(challenge.protocolName)
        unsafe cValue.host = string(challenge.host)
        unsafe cValue.realm = string(challenge.realm)
        unsafe cValue.port = challenge.port.map { Int32($0) } ?? -1
        unsafe cValue.is_proxy = challenge.isProxy ? 1 : 0
        unsafe cValue.failure_count = Int32(challenge.failureCount)
        unsafe cValue.certificates = strings(certificates)
        unsafe cValue.certificate_count = certificates.count
        unsafe cValue.previous = challenge.previousError.flatMap { previous in unsafe list([previous]) { unsafe error($0) } }
        return unsafe cValue
    }

    private func allocate(byteCount: Int, alignment: Int) -> UnsafeMutableRawPointer {
        let block = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: alignment)
        unsafe blocks.append(block)
        return unsafe block
    }
}
