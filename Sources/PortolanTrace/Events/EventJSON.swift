// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
package import PortolanCore
package import PortolanJSON

/// The events of a load as JSON objects, for `get --events`, for a trace, and for transactions that a replay adds to a
/// trace.
package enum EventJSON {
    /// - Parameters:
    ///   - time: the time since the start of the load.
    ///   - members: a JSON object.
    package static func line(_ name: String, _ time: Duration, _ members: JSONValue) -> JSONValue {
        var line = [JSONValue.Member(name: "event", value: .string(name)), .init(name: "time", value: .milliseconds(time))]
        if case .object(let members) = members { line += members }
        return .object(line)
    }

    package static func started(_ request: Request, handler: String?) -> JSONValue {
        [
            "url": .string(request.url.description), "method": .string(request.method.rawValue), "handler": .text(handler),
            "bodyBytes": .count(request.body.map(\.length) ?? 0),
        ]
    }

    package static func redirect(to url: URLRecord, _ response: Response) -> JSONValue {
        [
            "status": .count(response.status?.code), "reason": .text(response.status?.reasonPhrase), "url": .string(url.description),
            "headers": FieldList(response.fields).json,
        ]
    }

    package static func interim(_ response: Response) -> JSONValue {
        ["status": .count(response.status?.code), "headers": FieldList(response.fields).json]
    }

    package static func response(_ response: Response) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init(name: "url", value: .string(response.url.description)),
            .init(name: "status", value: .count(response.status?.code)),
            .init(name: "reason", value: .text(response.status?.reasonPhrase)),
            .init(name: "mime", value: .text(response.mimeType?.description)),
            .init(name: "encoding", value: .text(response.textEncodingName)),
            .init(name: "length", value: .count(response.expectedLength)),
            .init(name: "filename", value: .string(response.suggestedFilename)),
            .init(name: "headers", value: FieldList(of: response).json),
        ]
        if !response.remainingContentCodings.isEmpty {
            members.append(.init(name: "codings", value: .array(response.remainingContentCodings.map(JSONValue.string))))
        }
        return .object(members)
    }

    package static func data(_ recordedBytes: [UInt8], count: Int) -> JSONValue {
        ["bytes": .integer(count), "base64": .string(Data(recordedBytes).base64EncodedString())]
    }

    package static func finished(bytes: Int64, redirects: Int) -> JSONValue {
        ["bytes": .integer(bytes), "redirects": .integer(redirects)]
    }
}
