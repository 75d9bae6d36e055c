// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore

/// A value of JSON, as far as a plugin's settings need to tell them apart.
enum JSONValue: Decodable {
    case scalar(PropertyValue)
    case object([String: JSONValue])
    case other

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // Each shape is tried in turn: a decoder does not say what comes next.
        if container.decodeNil() {
            self = .other
        } else if let truth = try? container.decode(Bool.self) {
            self = .scalar(.truth(truth))
        } else if let integer = try? container.decode(Int64.self) {
            self = .scalar(.integer(integer))
        } else if let real = try? container.decode(Double.self) {
            self = .scalar(.real(real))
        } else if let text = try? container.decode(String.self) {
            self = .scalar(.text(text))
        } else if let object = try? container.decode([String: JSONValue].self) {
            self = .object(object)
        } else {
            self = .other
        }
    }
}
