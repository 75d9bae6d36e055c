// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanHandlers
import PortolanJSON

/// The handlers that a loader considers for a request, in order, and the decision of each.
struct Explanation {
    private let request: Request
    private let candidates: [HandlerCandidate]
    private let knownSchemes: [String]

    init(of request: Request, by loader: Loader) {
        self.request = request
        candidates = loader.handlerCandidates(for: request)
        knownSchemes = loader.schemes
    }

    private var servingHandler: String? { candidates.last { $0.refusal == nil }?.handler }

    /// The URL, one line for each handler candidate, and the handler that serves the request.
    var text: String {
        var lines = ["\(request.method.rawValue) \(request.url.shortDescription)"]
        for (index, candidate) in candidates.enumerated() {
            lines.append("\(index + 1). \(candidate.handler) (\(candidate.schemes.phrase)): \(Self.phrase(for: candidate.refusal))")
        }
        if candidates.isEmpty { lines.append("no handler names the scheme '\(request.url.scheme)', and none is asked for every scheme") }
        lines.append(servingHandler.map { "served by \($0)" } ?? "served by no handler")
        return lines.map { PlainText.line($0) + "\n" }.joined()
    }

    var json: JSONValue {
        [
            "url": .string(request.url.description),
            "method": .string(request.method.rawValue),
            "asked": .array(
                candidates.map { candidate in
                    [
                        "handler": .string(candidate.handler), "schemes": candidate.schemes.json,
                        "answer": .string(Self.name(of: candidate.refusal)), "reason": .text(candidate.refusal?.message),
                    ]
                }),
            "winner": .text(servingHandler),
        ]
    }

    /// The error if no handler serves the request.
    var failure: Failure? {
        guard servingHandler == nil else { return nil }
        let known = knownSchemes.isEmpty ? "none" : Loader.list(knownSchemes)
        return Failure(.unsupportedScheme, "no handler takes \(request.url.shortDescription); known schemes: \(known)")
    }

    private static func phrase(for refusal: HandlerCandidate.Refusal?) -> String {
        switch refusal {
        case nil: "serves this request"
        case .cannotInit: "does not serve this request"
        case .ownRequest: "issued this request itself, and is not asked again"
        case .unavailable(let message): "is not available: \(message)"
        }
    }

    private static func name(of refusal: HandlerCandidate.Refusal?) -> String {
        switch refusal {
        case nil: "takes"
        case .cannotInit: "cannotInit"
        case .ownRequest: "ownRequest"
        case .unavailable: "unavailable"
        }
    }
}

extension HandlerCandidate.Refusal {
    fileprivate var message: String? {
        if case .unavailable(let message) = self { message } else { nil }
    }
}

extension SchemeSet {
    fileprivate var phrase: String {
        switch self {
        case .any: "asked for every scheme"
        case .only(let schemes): "asked for \(schemes.map { $0 + ":" }.joined(separator: " "))"
        }
    }
}
