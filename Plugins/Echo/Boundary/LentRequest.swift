// SPDX-License-Identifier: Apache-2.0

import CPortolan

extension Request {
    /// Copies a request that the host lends.
    init(_ lent: portolan_request) {
        unsafe self.init(
            method: lent.method.text ?? "GET",
            scheme: lent.scheme.text ?? "",
            host: lent.host.text,
            port: lent.port < 0 ? nil : Int(lent.port),
            path: lent.path.text ?? "",
            query: lent.query.text,
            fragment: lent.fragment.text,
            fields: lent.fields?.map(count: lent.field_count) { unsafe Field($0) } ?? [],
            properties: Property.list(lent.properties, count: lent.property_count),
            bodyLength: lent.body_length < 0 ? nil : lent.body_length)
    }
}

extension Field {
    init(_ lent: portolan_field) {
        let bytes = unsafe lent.value.array
        var value = ""
        value.unicodeScalars.append(contentsOf: bytes.map { Unicode.Scalar($0) })
        unsafe self.init(name: lent.name.text ?? "", value: value)
    }
}

extension Property {
    static func list(_ start: UnsafePointer<portolan_property>?, count: Int) -> [Property] {
        unsafe start?.map(count: count) { unsafe Property($0) } ?? []
    }

    init(_ lent: portolan_property) {
        let value: Value =
            switch unsafe lent.kind {
            case PORTOLAN_KIND_TEXT: unsafe .text(lent.bytes.text ?? "")
            case PORTOLAN_KIND_BYTES: unsafe .bytes(lent.bytes.array)
            case PORTOLAN_KIND_INTEGER: unsafe .integer(lent.integer)
            case PORTOLAN_KIND_REAL: unsafe .real(lent.real)
            case PORTOLAN_KIND_TRUTH: unsafe .truth(lent.integer != 0)
            default: .other
            }
        unsafe self.init(name: lent.name.text ?? "", value: value)
    }
}
