// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanJSON

extension ProgramChecker {
    /// The status codes of a final response. A binding has no interim responses.
    static let allowedStatusCodes: ClosedRange<Int128> = 200...599

    mutating func checkResponse(_ source: ResponseSource) throws(BindingError) -> Step.Response {
        Step.Response(
            status: try checkInteger("status", source.status, .int, Self.allowedStatusCodes),
            length: try checkInteger("length", source.length, .int64, 0...Int128(Int64.max)),
            mimeType: try checkMIMEType(source.mimeType), textEncoding: try checkText("textEncoding", source.textEncoding),
            filename: try checkText("filename", source.filename))
    }

    /// Checks the range of a constant. The load checks other values when it knows them.
    private mutating func checkInteger(
        _ name: String, _ source: ArgumentSource?, _ type: ScalarType, _ range: ClosedRange<Int128>
    ) throws(BindingError) -> Expression? {
        guard let source else { return nil }
        var scope = scope
        let expression = try prependingStep(.member(name)) { () throws(BindingError) in
            let expression = try scope.checkValue(source, for: .scalar(type))
            if let constant = expression.knownInteger, !range.contains(constant) {
                throw BindingError("is \(constant), where \(range.lowerBound) to \(range.upperBound) are allowed")
            }
            return expression
        }
        self.scope = scope
        return expression
    }

    private mutating func checkText(_ name: String, _ source: ArgumentSource?) throws(BindingError) -> Expression? {
        guard let source else { return nil }
        var scope = scope
        let expression = try prependingStep(.member(name)) { () throws(BindingError) in
            try scope.checkValue(source, for: .text(isOptional: true))
        }
        self.scope = scope
        return expression
    }

    private mutating func checkMIMEType(_ source: ArgumentSource?) throws(BindingError) -> Expression? {
        let expression = try checkText("mime", source)
        if case .text(let constant)? = expression, MIMEType(parsing: constant) == nil {
            throw BindingError("is not a media type; write type/subtype, as in text/plain", at: JSONPath()["mime"])
        }
        return expression
    }
}
