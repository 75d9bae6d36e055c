// SPDX-License-Identifier: Apache-2.0

import CPortolan

extension PluginRequest {
    /// Copies a request that is borrowed from the host.
    convenience init(_ cValue: portolan_request) {
        unsafe self.init(
            method: cValue.method.text ?? "GET",
            url: cValue.url.text ?? "",
            scheme: cValue.scheme.text ?? "",
            user: cValue.user.text,
            password: cValue.password.text,
            host: cValue.host.text,
            port: cValue.port < 0 ? nil : Int(cValue.port),
            path: cValue.path.text ?? "",
            query: cValue.query.text,
            fragment: cValue.fragment.text,
            fields: [PluginField](cValue.fields, count: cValue.field_count),
            properties: [(name: String, value: PluginPropertyValue)](cValue.properties, count: cValue.property_count),
            bodyLength: cValue.body_length < 0 ? nil : cValue.body_length,
            timeout: cValue.timeout_ms > 0 ? .milliseconds(cValue.timeout_ms) : nil,
            isMethodSafe: cValue.method_is_safe != 0,
            priority: cValue.priority)
    }
}

extension [PluginField] {
    init(_ start: UnsafePointer<portolan_field>?, count: Int) {
        self = unsafe start?.map(count: count) { unsafe PluginField(name: $0.name.text ?? "", value: $0.value.latin1) } ?? []
    }
}

extension PluginResponse {
    init(_ cValue: portolan_response) {
        unsafe self.init(
            status: cValue.status, url: cValue.url.text, mimeType: cValue.mime_type.text, textEncoding: cValue.text_encoding.text,
            suggestedName: cValue.suggested_name.text,
            expectedLength: cValue.expected_length > 0 || (cValue.expected_length == 0 && cValue.has_length != 0)
                ? cValue.expected_length : nil,
            fields: [PluginField](cValue.fields, count: cValue.field_count),
            storage: Storage(rawValue: cValue.storage.rawValue) ?? .notAllowed)
    }
}

extension PluginError {
    /// Copies an error and its causes. A host gives at most eight causes.
    init(_ cValue: portolan_error) {
        var list = unsafe [cValue]
        while unsafe list.count <= 8, let next = unsafe list.last?.cause { unsafe list.append(next.pointee) }
        var cause: PluginError?
        while unsafe list.count > 1, let last = unsafe list.popLast() {
            cause = unsafe PluginError(Code(rawValue: last.code), domain: last.domain.text, message: last.message.text ?? "", cause: cause)
        }
        unsafe self.init(Code(rawValue: cValue.code), domain: cValue.domain.text, message: cValue.message.text ?? "", cause: cause)
    }
}

extension PluginChallengeAnswer {
    /// Copies an answer. Its secrets are wiped when the copy is freed.
    init(_ cValue: portolan_answer) {
        switch unsafe cValue.disposition {
        case PORTOLAN_USE:
            unsafe self = .use(
                PluginCredential(
                    user: PluginSecret(copying: cValue.user.buffer), password: PluginSecret(copying: cValue.password.buffer),
                    certificates: cValue.certificates?.map(count: cValue.certificate_count) { unsafe Array($0.buffer) } ?? [],
                    privateKey: PluginSecret(copying: cValue.private_key.buffer)))
        case PORTOLAN_WITHOUT: self = .continueWithoutCredential
        case PORTOLAN_REJECT_SPACE: self = .rejectProtectionSpace
        case PORTOLAN_CANCEL: self = .cancel
        default: self = .performDefault
        }
    }
}
