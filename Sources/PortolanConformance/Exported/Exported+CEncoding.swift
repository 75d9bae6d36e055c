// SPDX-License-Identifier: Apache-2.0

import CPortolan
import HTTPTypes
import PortolanCore
import PortolanPlugins

extension CStorage<portolan_change> {
    /// The change that turns `original` into `request`.
    init(from original: Request, to request: Request) {
        unsafe self.init { arena in
            var image = unsafe portolan_change()
            unsafe image.size = UInt32(MemoryLayout<portolan_change>.size)
            if request.url != original.url { unsafe image.url = arena.string(request.url.string) }
            if request.method != original.method { unsafe image.method = arena.string(request.method.rawValue) }
            unsafe image.drops_body = original.body != nil && request.body == nil ? 1 : 0
            unsafe (image.fields, image.field_count) = arena.list(Self.changes(from: original.fields, to: request.fields)) { field, arena in
                let name = unsafe arena.string(field.name.rawName)
                return unsafe portolan_field(name: name, value: field.value.map { unsafe arena.string($0) } ?? portolan_string())
            }
            let names = Set(original.properties.names).union(request.properties.names).filter {
                original.properties[$0] != request.properties[$0]
            }
            unsafe (image.properties, image.property_count) = arena.list(names.sorted()) { unsafe $1.property($0, request.properties[$0]) }
            return unsafe image
        }
    }

    /// Returns each field name whose values differ, with its new values; with `nil` if the field was removed.
    private static func changes(from original: HTTPFields, to new: HTTPFields) -> [(name: HTTPField.Name, value: [UInt8]?)] {
        var changes: [(name: HTTPField.Name, value: [UInt8]?)] = []
        for name in Set(original.map(\.name)).union(new.map(\.name)).sorted(by: { $0.canonicalName < $1.canonicalName })
        where original[fields: name] != new[fields: name] {
            let values = new[fields: name].map { field in unsafe field.withUnsafeBytesOfValue { unsafe Array($0) } }
            changes += values.isEmpty ? [(name, nil)] : values.map { (name, $0) }
        }
        return changes
    }
}

extension CStorage<portolan_challenge> {
    init(_ challenge: AuthenticationChallenge) {
        unsafe self.init { arena in
            let space = challenge.protectionSpace
            var image = unsafe portolan_challenge()
            unsafe image.size = UInt32(MemoryLayout<portolan_challenge>.size)
            unsafe (image.protocol, image.host) = (arena.string(space.protocolName), arena.string(space.host))
            unsafe image.realm = arena.string(space.realm)
            unsafe image.port = space.port.map { Int32(truncatingIfNeeded: $0) } ?? -1
            unsafe image.is_proxy = space.isProxy ? 1 : 0
            unsafe image.failure_count = Int32(clamping: challenge.previousFailureCount)
            switch space.kind {
            case .password(let scheme):
                unsafe (image.method, image.scheme) = (PORTOLAN_ASK_PASSWORD, arena.string(scheme))
            case .clientCertificate(let issuers):
                unsafe image.method = PORTOLAN_ASK_CLIENT_CERTIFICATE
                unsafe (image.certificates, image.certificate_count) = arena.list(issuers) { unsafe $1.string($0) }
            case .serverTrust(let chain):
                unsafe image.method = PORTOLAN_ASK_SERVER_TRUST
                unsafe (image.certificates, image.certificate_count) = arena.list(chain) { unsafe $1.string($0) }
            }
            if let previous = challenge.previousError {
                let error = unsafe arena.list([previous]) { unsafe CStorage<portolan_error>.encode($0, in: &$1) }
                unsafe image.previous = error.start
            }
            return unsafe image
        }
    }
}

extension ChallengeAnswer {
    /// The runner's answer to a challenge of `kind`. The runner answers with passwords only, so other kinds of
    /// challenge get the default.
    init(borrowed answer: portolan_answer, to kind: ProtectionSpace.Kind) {
        switch unsafe answer.disposition {
        case PORTOLAN_USE:
            guard case .password = kind, let user = unsafe ReadText(answer.user).text,
                let password = unsafe ReadText(answer.password).text
            else {
                self = .performDefault
                return
            }
            self = .use(.password(user: user, password: password))
        case PORTOLAN_WITHOUT: self = .continueWithoutCredential
        case PORTOLAN_REJECT_SPACE: self = .rejectProtectionSpace
        case PORTOLAN_CANCEL: self = .cancel
        default: self = .performDefault
        }
    }
}
