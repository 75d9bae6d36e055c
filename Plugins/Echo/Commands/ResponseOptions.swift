// SPDX-License-Identifier: Apache-2.0

import PortolanPluginKit

/// The parameters that every command accepts. They control how the response is delivered.
final class ResponseOptions: Sendable {
    enum Length: Sendable {
        /// The length that the command declares.
        case own
        case unknown
        case exactly(Int64)
    }

    let steps: [PluginStep]
    /// The statuses of the interim responses.
    let interim: [Int32]
    /// The delay after the steps and interim responses, before the command runs.
    let wait: Duration
    let status: Int32?
    let type: String?
    let charset: String?
    let name: String?
    let length: Length
    let fields: [PluginField]
    /// The maximum number of bytes in one delivery.
    let piece: Int
    /// The delay between two deliveries.
    let pause: Duration
    /// The number of body bytes after which the load fails.
    let cut: Int64?
    let trailers: [PluginField]
    let entityTag: EntityTag?
    /// The time in seconds for which a stored response is fresh.
    let maxAge: Int64?

    /// Whether the URL asks for a response that can be stored.
    var isStorable: Bool { entityTag != nil || maxAge != nil }

    static let largestPiece: Int64 = 1 << 20
    static let pieceProperty = PluginProperty<Int>("org.portolan.echo.piece")
    /// One hour, in milliseconds.
    private static let longestWait: Int64 = 3_600_000
    /// RFC 9111 §1.2.2.
    private static let longestAge: Int64 = 1 << 31

    /// Reads the delivery parameters, and removes them from `parameters`.
    ///
    /// - Parameters:
    ///   - request: its property ``pieceProperty`` takes precedence over the parameter `piece`.
    ///   - isRedirect: whether the status must be a redirection status.
    init(_ parameters: inout Parameters, request: PluginRequest, isRedirect: Bool) throws(PluginError) {
        steps = try Self.steps(&parameters)
        interim = try Self.interim(&parameters)
        wait = .milliseconds(try parameters.number("wait", in: 0...Self.longestWait) ?? 0)
        status = try parameters.number("status", in: isRedirect ? 300...399 : 200...999).map { Int32($0) }
        type = try Self.text("type", &parameters, "a media type without parameters, as in text/plain") { $0.isMediaType }
        charset = try Self.text("charset", &parameters, "a token, as in utf-8") { $0.isToken }
        name = try parameters.text("name")
        length = try Self.length(&parameters)
        fields = try Self.fields("field", &parameters)
        let piece = try parameters.number("piece", in: 1...Self.largestPiece) ?? 65536
        self.piece = try Self.piece(request) ?? Int(piece)
        pause = .milliseconds(try parameters.number("pause", in: 0...Self.longestWait) ?? 0)
        cut = try parameters.number("cut", in: 0...Command.largestSize)
        trailers = try Self.fields("trailer", &parameters)
        entityTag = try Self.entityTag(&parameters)
        maxAge = try parameters.number("max-age", in: 0...Self.longestAge)
    }

    private static func entityTag(_ parameters: inout Parameters) throws(PluginError) -> EntityTag? {
        guard let text = try parameters.text("etag") else { return nil }
        guard let tag = EntityTag(text) else {
            throw parameters.invalidValue(
                "etag", text, "visible ASCII characters, with or without quotes, as in v1, %22v1%22 or W/%22v1%22")
        }
        return tag
    }

    private static func text(
        _ name: String, _ parameters: inout Parameters, _ allowed: String, isValid: (String) -> Bool
    ) throws(PluginError) -> String? {
        guard let text = try parameters.text(name) else { return nil }
        guard isValid(text) else { throw parameters.invalidValue(name, text, allowed) }
        return text
    }

    private static func steps(_ parameters: inout Parameters) throws(PluginError) -> [PluginStep] {
        var steps: [PluginStep] = []
        for name in try parameters.texts("step") {
            let names = PluginStep.allCases.map { "\($0)" }.joined(separator: ", ")
            guard let step = PluginStep.allCases.first(where: { "\($0)" == name }), !steps.contains(step) else {
                throw parameters.invalidValue("step", name, "each of \(names) at most once")
            }
            steps.append(step)
        }
        return steps
    }

    private static func interim(_ parameters: inout Parameters) throws(PluginError) -> [Int32] {
        var statuses: [Int32] = []
        for text in try parameters.texts("interim") {
            statuses.append(Int32(try parameters.number(text, of: "interim", in: 100...199)))
        }
        return statuses
    }

    private static func length(_ parameters: inout Parameters) throws(PluginError) -> Length {
        guard let text = try parameters.text("length") else { return .own }
        if text == "unknown" { return .unknown }
        return .exactly(try parameters.number(text, of: "length", in: 0...Command.largestSize, or: "unknown"))
    }

    private static func fields(_ name: String, _ parameters: inout Parameters) throws(PluginError) -> [PluginField] {
        var fields: [PluginField] = []
        for line in parameters.removeAll(name) {
            guard let field = PluginField(parsing: line) else {
                throw parameters.invalidValue(
                    name, String(decoding: line, as: UTF8.self),
                    "Name:value, with a token as the name and no control "
                        + "character in the value")
            }
            fields.append(field)
        }
        return fields
    }

    private static func piece(_ request: PluginRequest) throws(PluginError) -> Int? {
        let pieceSize: Int?
        do { pieceSize = try request.value(of: pieceProperty) } catch { throw invalidPieceError }
        if let pieceSize, !(1...Int(largestPiece)).contains(pieceSize) { throw invalidPieceError }
        return pieceSize
    }

    private static var invalidPieceError: PluginError {
        PluginError(.badRequest, message: "the property \(pieceProperty.name) must be an integer from 1 to \(largestPiece)")
    }
}
