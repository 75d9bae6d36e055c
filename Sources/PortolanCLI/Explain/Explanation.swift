// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanJSON

/// How a request finds its handler.
struct Explanation {
    private let request: Request
    private let consultations: [Consultation]
    private let knownSchemes: [String]

    init(of request: Request, by loader: Loader) {
        self.request = request
        consultations = loader.explain(request)
        knownSchemes = loader.schemes
    }

    var winner: String? { consultations.last { $0.refusal == nil }?.handler }

    /// For a person: the URL, a line for each handler that is asked, and who takes it.
    var text: String {
        var lines = ["\(request.method.rawValue) \(request.url.shortDescription)"]
        for (index, consultation) in consultations.enumerated() {
            lines.append("\(index + 1). \(consultation.handler) (\(consultation.schemes.words)): \(Self.words(for: consultation.refusal))")
        }
        if consultations.isEmpty { lines.append("no handler names the scheme '\(request.url.scheme)' or is asked for every scheme") }
        lines.append(winner.map { "taken by \($0)" } ?? "taken by nobody")
        return lines.map { PlainText.line($0) + "\n" }.joined()
    }

    var json: JSONValue {
        [
            "url": .string(request.url.redacted),
            "method": .string(request.method.rawValue),
            "asked": .array(
                consultations.map { consultation in
                    [
                        "handler": .string(consultation.handler), "schemes": consultation.schemes.json,
                        "answer": .string(Self.name(of: consultation.refusal)), "reason": .text(consultation.refusal?.message),
                    ]
                }),
            "winner": .text(winner),
        ]
    }

    /// What is wrong where nobody takes the request.
    var failure: Failure? {
        guard winner == nil else { return nil }
        let known = knownSchemes.isEmpty ? "none" : Loader.list(knownSchemes)
        return Failure(.unsupportedScheme, "no handler takes \(request.url.shortDescription); known schemes: \(known)")
    }

    private static func words(for refusal: Consultation.Refusal?) -> String {
        switch refusal {
        case nil: "takes it"
        case .cannotInit: "does not serve this request"
        case .ownRequest: "issued this request itself, and is not asked again"
        case .unavailable(let message): "is not available: \(message)"
        }
    }

    private static func name(of refusal: Consultation.Refusal?) -> String {
        switch refusal {
        case nil: "takes"
        case .cannotInit: "cannotInit"
        case .ownRequest: "ownRequest"
        case .unavailable: "unavailable"
        }
    }
}

extension Consultation.Refusal {
    fileprivate var message: String? {
        if case .unavailable(let message) = self { message } else { nil }
    }
}

extension SchemeSet {
    fileprivate var words: String {
        switch self {
        case .any: "asked for every scheme"
        case .only(let schemes): "asked for \(schemes.map { $0 + ":" }.joined(separator: " "))"
        }
    }
}
