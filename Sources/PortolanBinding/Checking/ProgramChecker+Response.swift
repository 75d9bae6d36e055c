// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanJSON

extension ProgramChecker {
    /// The range of the final response's status; a binding has no interim responses.
    static let statuses: ClosedRange<Int128> = 200...599

    mutating func response(_ source: ResponseSource) throws(BindingProblem) -> Step.Response {
        Step.Response(
            status: try integer("status", source.status, .int, Self.statuses),
            length: try integer("length", source.length, .int64, 0...Int128(Int64.max)),
            mimeType: try mimeType(source.mimeType), textEncoding: try text("textEncoding", source.textEncoding),
            filename: try text("filename", source.filename))
    }

    /// Checks constants now. Values that are known only when the load runs are checked then.
    private mutating func integer(
        _ name: String, _ source: ArgumentSource?, _ type: ScalarType, _ range: ClosedRange<Int128>
    ) throws(BindingProblem) -> Expression? {
        guard let source else { return nil }
        var scope = scope
        let expression = try at(.member(name)) { () throws(BindingProblem) in
            let expression = try scope.value(source, for: .scalar(type))
            if let constant = expression.constantInteger, !range.contains(constant) {
                throw BindingProblem("is \(constant), where \(range.lowerBound) to \(range.upperBound) are allowed")
            }
            return expression
        }
        self.scope = scope
        return expression
    }

    private mutating func text(_ name: String, _ source: ArgumentSource?) throws(BindingProblem) -> Expression? {
        guard let source else { return nil }
        var scope = scope
        let expression = try at(.member(name)) { () throws(BindingProblem) in try scope.value(source, for: .text(isOptional: true)) }
        self.scope = scope
        return expression
    }

    private mutating func mimeType(_ source: ArgumentSource?) throws(BindingProblem) -> Expression? {
        let expression = try text("mime", source)
        if case .text(let constant)? = expression, MIMEType(parsing: constant) == nil {
            throw BindingProblem("is not a media type; write type/subtype, as in text/plain", at: JSONPath()["mime"])
        }
        return expression
    }
}
