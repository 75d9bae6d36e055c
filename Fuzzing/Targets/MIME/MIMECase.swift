// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Parses a MIME type from text and from bytes. The result must match the reference and contain only valid parts, and
/// must be the same after it is serialised and parsed again.
enum MIMECase {
    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        let text = String(decoding: input, as: UTF8.self)
        try check(MIMEType(parsing: text), of: text)
        // Bytes represent ISO-8859-1.
        var scalars = String.UnicodeScalarView()
        for byte in input { scalars.append(Unicode.Scalar(byte)) }
        try check(MIMEType(parsing: input.span), of: String(scalars))
    }

    private static func check(_ type: MIMEType?, of text: String) throws(FuzzFinding) {
        let parsed = type.map { MIMEReference(type: $0) }
        let expected = MIMEReference(parsing: text)
        try require(
            parsed == expected,
            "\(text.debugDescription) was parsed as \(String(describing: parsed)) instead of \(String(describing: expected))")
        guard let type else { return }
        try checkParts(of: type, text)
        let reparsedType = MIMEType(parsing: type.description)
        try require(
            reparsedType == type, "\(text.debugDescription) serialises as \(type.description.debugDescription), which is another type")
    }

    private static func checkParts(of type: MIMEType, _ text: String) throws(FuzzFinding) {
        try require("\(type.type)/\(type.subtype)" == type.essence, "type and subtype of \(text.debugDescription) are not its essence")
        try require(type.essence == type.essence.lowercased(), "the essence of \(text.debugDescription) is not in lower case")
        let names = Set(type.parameters.map(\.name))
        try require(names.count == type.parameters.count, "a parameter name of \(text.debugDescription) occurs twice")
        for parameter in type.parameters {
            let isNameLegal = !parameter.name.isEmpty && parameter.name.unicodeScalars.allSatisfy(MIMEReference.isToken)
            let isValueLegal = parameter.value.unicodeScalars.allSatisfy(MIMEReference.isQuotable)
            try require(isNameLegal && isValueLegal, "\(text.debugDescription) has the illegal parameter \(parameter)")
            try require(type[parameter: parameter.name] == parameter.value, "\(parameter.name) is not found in \(text.debugDescription)")
        }
    }
}

extension MIMEReference {
    init(type: MIMEType) {
        self.init(essence: type.essence, parameters: type.parameters.map { [$0.name, $0.value] })
    }
}
