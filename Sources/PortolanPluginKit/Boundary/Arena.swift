// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// Memory that the host borrows during one call. The arena frees it in `deinit`.
@safe
final class Arena {
    private var blocks: [UnsafeMutableRawPointer] = unsafe []

    init() {}

    deinit {
        for index in unsafe blocks.indices { unsafe blocks[index].deallocate() }
    }

    /// `nil` gives an absent string.
    func string(_ text: String?) -> portolan_string {
        guard var text else { return unsafe portolan_string() }
        return text.withUTF8 { unsafe string(UnsafeRawBufferPointer($0)) }
    }

    private func string(_ bytes: UnsafeRawBufferPointer) -> portolan_string {
        // Allocates at least one byte, because an empty string must not have a NULL pointer: that means absent.
        let block = unsafe take(byteCount: bytes.count + 1, alignment: 1)
        unsafe UnsafeMutableRawBufferPointer(start: block, count: bytes.count).copyMemory(from: bytes)
        return unsafe portolan_string(bytes: UnsafePointer(block.assumingMemoryBound(to: CChar.self)), length: bytes.count)
    }

    func bytes(_ bytes: [UInt8]) -> portolan_string {
        unsafe bytes.withUnsafeBytes { unsafe string($0) }
    }

    /// One byte for each character. A field that passed the check has no character beyond U+00FF.
    private func latin(_ text: String) -> portolan_string {
        text.utf8.allSatisfy { $0 < 128 }
            ? unsafe string(text) : unsafe bytes(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
    }

    /// `nil` for an empty array.
    func list<Element, Lent>(_ elements: [Element], _ lend: (Element) -> Lent) -> UnsafePointer<Lent>? {
        guard !elements.isEmpty else { return nil }
        let block = unsafe take(byteCount: elements.count * MemoryLayout<Lent>.stride, alignment: MemoryLayout<Lent>.alignment)
        let list = unsafe block.bindMemory(to: Lent.self, capacity: elements.count)
        for (index, element) in elements.enumerated() { unsafe (list + index).initialize(to: lend(element)) }
        return unsafe UnsafePointer(list)
    }

    func fields(_ fields: [PluginField]) -> UnsafePointer<portolan_field>? {
        unsafe list(fields) { unsafe portolan_field(name: string($0.name), value: latin($0.value)) }
    }

    func strings(_ list: [[UInt8]]) -> UnsafePointer<portolan_string>? {
        unsafe self.list(list) { unsafe bytes($0) }
    }

    func response(_ response: PluginResponse) -> portolan_response {
        var lent = unsafe portolan_response()
        unsafe lent.size = UInt32(MemoryLayout<portolan_response>.size)
        unsafe lent.status = response.status
        unsafe lent.url = string(response.url)
        unsafe lent.mime_type = string(response.mimeType)
        unsafe lent.text_encoding = string(response.textEncoding)
        unsafe lent.suggested_name = string(response.suggestedName)
        unsafe lent.expected_length = response.expectedLength ?? -1
        unsafe lent.fields = fields(response.fields)
        unsafe lent.field_count = response.fields.count
        unsafe lent.storage = portolan_storage(rawValue: response.storage.rawValue)
        return unsafe lent
    }

    /// Includes the causes; ``PluginError`` limits their number.
    func error(_ error: PluginError) -> portolan_error {
        var lent = unsafe portolan_error()
        var below: UnsafePointer<portolan_error>?
        for error in error.fromRoot {
            unsafe lent = image(of: error)
            unsafe lent.cause = unsafe below
            unsafe below = list([error]) { _ in unsafe lent }
        }
        return unsafe lent
    }

    /// Does not include the causes.
    private func image(of error: PluginError) -> portolan_error {
        let domain = error.domain.flatMap { Syntax.isReverseDNS($0) ? $0 : nil }
        // Without a domain, the host accepts only published codes, and not those reserved for the host (ERR-03).
        let number = error.code.rawValue
        let isPublished = PluginError.Code.published.contains(number) && !PluginError.Code.hostOnly.contains(number)
        var lent = unsafe portolan_error()
        unsafe lent.size = UInt32(MemoryLayout<portolan_error>.size)
        unsafe lent.code = domain != nil || isPublished ? error.code.rawValue : PluginError.Code.unknown.rawValue
        unsafe lent.domain = string(domain)
        unsafe lent.message = string(Syntax.oneLine(error.message))
        return unsafe lent
    }

    func change(_ change: PluginChange) -> portolan_change {
        var lent = unsafe portolan_change()
        unsafe lent.size = UInt32(MemoryLayout<portolan_change>.size)
        unsafe lent.drops_body = change.dropsBody ? 1 : 0
        unsafe lent.url = string(change.url)
        unsafe lent.method = string(change.method)
        unsafe lent.fields = list(change.fields) { field in
            unsafe portolan_field(name: string(field.name), value: field.value.map { unsafe latin($0) } ?? portolan_string())
        }
        unsafe lent.field_count = change.fields.count
        unsafe lent.properties = list(change.properties) { unsafe property($0.name, $0.value) }
        unsafe lent.property_count = change.properties.count
        unsafe lent.drops_fields = change.dropsFields ? 1 : 0
        return unsafe lent
    }

    private func property(_ name: String, _ value: PluginPropertyValue?) -> portolan_property {
        var lent = unsafe portolan_property()
        unsafe lent.name = string(name)
        switch value {
        case .text(let text)?: unsafe (lent.kind, lent.bytes) = (PORTOLAN_KIND_TEXT, string(text))
        case .bytes(let bytes)?: unsafe (lent.kind, lent.bytes) = (PORTOLAN_KIND_BYTES, self.bytes(bytes))
        case .integer(let integer)?: unsafe (lent.kind, lent.integer) = (PORTOLAN_KIND_INTEGER, integer)
        case .real(let real)?: unsafe (lent.kind, lent.real) = (PORTOLAN_KIND_REAL, real)
        case .boolean(let boolean)?: unsafe (lent.kind, lent.integer) = (PORTOLAN_KIND_TRUTH, boolean ? 1 : 0)
        case .other?, nil: break  // kind 0 removes it
        }
        return unsafe lent
    }

    func challenge(_ challenge: PluginChallenge) -> portolan_challenge {
        var lent = unsafe portolan_challenge()
        unsafe lent.size = UInt32(MemoryLayout<portolan_challenge>.size)
        var certificates: [[UInt8]] = []
        switch challenge.method {
        case .password(let scheme): unsafe (lent.method, lent.scheme) = (PORTOLAN_ASK_PASSWORD, string(scheme))
        case .clientCertificate(let issuers): unsafe (lent.method, certificates) = (PORTOLAN_ASK_CLIENT_CERTIFICATE, issuers)
        case .serverTrust(let chain): unsafe (lent.method, certificates) = (PORTOLAN_ASK_SERVER_TRUST, chain)
        }
        unsafe lent.protocol = string(challenge.protocolName)
        unsafe lent.host = string(challenge.host)
        unsafe lent.realm = string(challenge.realm)
        unsafe lent.port = challenge.port.map { Int32($0) } ?? -1
        unsafe lent.is_proxy = challenge.isProxy ? 1 : 0
        unsafe lent.failure_count = Int32(challenge.failureCount)
        unsafe lent.certificates = strings(certificates)
        unsafe lent.certificate_count = certificates.count
        unsafe lent.previous = challenge.previousError.flatMap { previous in unsafe list([previous]) { unsafe error($0) } }
        return unsafe lent
    }

    private func take(byteCount: Int, alignment: Int) -> UnsafeMutableRawPointer {
        let block = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: alignment)
        unsafe blocks.append(block)
        return unsafe block
    }
}
