// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// One event of an event stream.
///
/// HTML, "server-sent events"
public struct ServerSentEvent: Hashable, Sendable {
    /// The type that the server has given the event; `message` if it has given none.
    public var type: String
    /// The lines of the event's data, with LF between them.
    public var data: String
    /// The last ID that the server has sent, with this event or an earlier one; empty if it has sent none.
    public var id: String

    public init(type: String = "message", data: String, id: String = "") {
        (self.type, self.data, self.id) = (type, data, id)
    }

    /// Decodes ``data`` from JSON.
    ///
    /// - Throws: the `DecodingError` of the decoder.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()) throws -> Value {
        try decoder.decode(type, from: Data(data.utf8))
    }
}
