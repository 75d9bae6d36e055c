// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import HTTPTypes
public import PortolanCore

extension Loader {
    /// Loads a value from JSON.
    ///
    ///     let user = try await loader.decode(User.self, from: "https://example.org/users/7")
    ///
    /// - Parameters:
    ///   - type: the type of the value.
    ///   - url: a relative URL refers to `Configuration.baseURL`.
    ///   - decoder: decodes the value.
    /// - Throws: as `decode(_:for:decoder:)`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from url: String, decoder: JSONDecoder = JSONDecoder()
    ) async throws -> Value {
        try await decode(type, for: makeRequest(url), decoder: decoder)
    }

    /// Does what `decode(_:for:decoder:)` does, for a Foundation URL.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from url: URL, decoder: JSONDecoder = JSONDecoder()
    ) async throws -> Value {
        try await decode(type, for: Request(url), decoder: decoder)
    }

    /// Loads a request, and decodes its body from JSON.
    ///
    /// The body is loaded into memory. A request without `Accept` gets `Accept: application/json`. The type of the
    /// response is not checked.
    ///
    /// - Throws: `LoadError` if the load failed; ``StatusError`` if the status is 400 or above; the `DecodingError`
    ///   of the decoder.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, for request: Request, decoder: JSONDecoder = JSONDecoder()
    ) async throws -> Value {
        let (body, response) = try await data(for: request.accepting("application/json"))
        try response.validated(body: body)
        return try decoder.decode(type, from: body)
    }
}

extension Request {
    /// Returns the request with a field `Accept`, if it has none.
    func accepting(_ types: String) -> Request {
        guard !fields.contains(.accept) else { return self }
        var request = self
        request.fields[.accept] = types
        return request
    }
}
