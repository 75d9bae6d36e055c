// SPDX-License-Identifier: Apache-2.0

import PortolanPluginKit

/// Encodes a request as a JSON object (RFC 8259).
enum RequestReport {
    static func json(_ request: PluginRequest, body: [UInt8]) -> String {
        let text = String(validating: body, as: UTF8.self)
        let fields = request.fields.map { "[\(string($0.name)),\(string($0.value))]" }
        let properties = request.properties.map { "\(string($0.name)):\(value($0.value))" }
        let members: [(String, String)] = [
            ("url", string(request.urlWithoutUser())),
            ("method", string(request.method)),
            ("headers", "[\(fields.joined(separator: ","))]"),
            ("properties", "{\(properties.joined(separator: ","))}"),
            ("body", text.map(string) ?? "null"),
            ("bodyBase64", text == nil ? string(Base64.encode(body)) : "null"),
            ("length", "\(body.count)"),
        ]
        return "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }

    private static func value(_ value: PluginPropertyValue) -> String {
        switch value {
        case .text(let text): string(text)
        case .bytes(let bytes): "{\"base64\":\(string(Base64.encode(bytes)))}"
        case .integer(let integer): "\(integer)"
        case .real(let real): real.isFinite ? "\(real)" : "null"
        case .boolean(let boolean): "\(boolean)"
        case .other: "null"
        }
    }

    private static func string(_ text: String) -> String {
        var json = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": json += "\\\""
            case "\\": json += "\\\\"
            case "\n": json += "\\n"
            case "\r": json += "\\r"
            case "\t": json += "\\t"
            case ..<" ":
                let digits = String(scalar.value, radix: 16)
                json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: json.unicodeScalars.append(scalar)
            }
        }
        return json + "\""
    }
}
