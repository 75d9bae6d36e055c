// SPDX-License-Identifier: Apache-2.0

import CPortolan

extension PluginRequest {
    /// Copies a request that is borrowed from the host.
    convenience init(_ lent: portolan_request) {
        unsafe self.init(
            method: lent.method.text ?? "GET",
            url: lent.url.text ?? "",
            scheme: lent.scheme.text ?? "",
            user: lent.user.text,
            password: lent.password.text,
            host: lent.host.text,
            port: lent.port < 0 ? nil : Int(lent.port),
            path: lent.path.text ?? "",
            query: lent.query.text,
            fragment: lent.fragment.text,
            fields: [PluginField](lent.fields, count: lent.field_count),
            properties: [(name: String, value: PluginPropertyValue)](lent.properties, count: lent.property_count),
            bodyLength: lent.body_length < 0 ? nil : lent.body_length,
            timeout: lent.timeout_ms > 0 ? .milliseconds(lent.timeout_ms) : nil,
            isMethodSafe: lent.method_is_safe != 0,
            priority: lent.priority)
    }
}

extension [PluginField] {
    init(_ start: UnsafePointer<portolan_field>?, count: Int) {
        self = unsafe start?.map(count: count) { unsafe PluginField(name: $0.name.text ?? "", value: $0.value.latin) } ?? []
    }
}

extension PluginResponse {
    init(_ lent: portolan_response) {
        unsafe self.init(
            status: lent.status, url: lent.url.text, mimeType: lent.mime_type.text, textEncoding: lent.text_encoding.text,
            suggestedName: lent.suggested_name.text, expectedLength: lent.expected_length < 0 ? nil : lent.expected_length,
            fields: [PluginField](lent.fields, count: lent.field_count),
            storage: Storage(rawValue: lent.storage.rawValue) ?? .notAllowed)
    }
}

extension PluginError {
    /// Copies an error and its causes. A host gives at most eight causes.
    init(_ lent: portolan_error) {
        var list = unsafe [lent]
        while unsafe list.count <= 8, let next = unsafe list.last?.cause { unsafe list.append(next.pointee) }
        var cause: PluginError?
        while unsafe list.count > 1, let last = unsafe list.popLast() {
            cause = unsafe PluginError(Code(rawValue: last.code), domain: last.domain.text, message: last.message.text ?? "", cause: cause)
        }
        unsafe self.init(Code(rawValue: lent.code), domain: lent.domain.text, message: lent.message.text ?? "", cause: cause)
    }
}

extension PluginAnswer {
    /// Copies an answer. Its secrets are wiped when the copy is freed.
    init(_ lent: portolan_answer) {
        switch unsafe lent.disposition {
        case PORTOLAN_USE:
            unsafe self = .use(
                PluginCredential(
                    user: PluginSecret(copying: lent.user.buffer), password: PluginSecret(copying: lent.password.buffer),
                    certificates: lent.certificates?.map(count: lent.certificate_count) { unsafe Array($0.buffer) } ?? [],
                    privateKey: PluginSecret(copying: lent.private_key.buffer)))
        case PORTOLAN_WITHOUT: self = .without
        case PORTOLAN_REJECT_SPACE: self = .rejectSpace
        case PORTOLAN_CANCEL: self = .cancel
        default: self = .performDefault
        }
    }
}
