// SPDX-License-Identifier: Apache-2.0

/// Interprets the fields of a response that determine its framing.
///
/// Source: RFC 9112, sections 6 and 7; RFC 9110, sections 5.6.1 and 7.6.1.
struct FramingReference {
    enum LengthValue: Equatable {
        case absent, invalid
        case length(Int)
    }

    enum CodingList {
        case absent, chunked, others, invalid
        /// The list contains a coding that is unknown here, in valid syntax.
        case unknown
    }

    static let names = ["content-length", "transfer-encoding", "connection"]

    let contentLength: LengthValue
    let transferCodings: CodingList
    let connectionOptions: [String]
    /// Whether a Transfer-Encoding line is empty. The line has no effect here, but another recipient may interpret it
    /// differently.
    let hasEmptyTransferEncoding: Bool

    init(_ fields: [[String]]) {
        func values(_ name: String) -> [String]? {
            let matchingValues = fields.filter { $0[0].lowercased() == name }.map { $0[1] }
            return matchingValues.isEmpty ? nil : matchingValues
        }
        contentLength = Self.contentLength(values("content-length"))
        transferCodings = Self.transferCodings(values("transfer-encoding"))
        hasEmptyTransferEncoding = (values("transfer-encoding") ?? []).contains { Self.elements($0).isEmpty }
        connectionOptions = (values("connection") ?? []).flatMap(Self.elements).map { $0.lowercased() }
    }

    /// Interprets Content-Length: all elements must be identical, byte by byte, including empty ones (Fetch, "extract a
    /// length").
    private static func contentLength(_ values: [String]?) -> LengthValue {
        guard let values else { return .absent }
        let octets = values.joined(separator: ",").unicodeScalars.map { UInt8($0.value) }
        let elements = Set(octets.split(separator: 44, omittingEmptySubsequences: false).map { Text.latin1(Text.trimmed($0)) })
        guard elements.count == 1, let element = elements.first, let number = Int(element),
            element.unicodeScalars.allSatisfy({ ("0"..."9").contains($0) })
        else { return .invalid }
        return .length(number)
    }

    private static func transferCodings(_ values: [String]?) -> CodingList {
        guard let values else { return .absent }
        let knownCodings = ["chunked", "identity", "gzip", "x-gzip", "deflate"]
        var names: [String] = []
        for element in values.flatMap(elements) {
            let octets = element.unicodeScalars.map { UInt8($0.value) }
            let name = octets.prefix { MIMEReference.isToken(Unicode.Scalar($0)) }
            let parameters = ParameterReference(octets.dropFirst(name.count))
            guard !name.isEmpty, parameters.firstInvalidOffset == nil, parameters.isComplete, !names.contains("chunked") else {
                return .invalid
            }
            names.append(Text.latin1(name).lowercased())
            guard knownCodings.contains(names[names.count - 1]) else { return .unknown }
            guard name.count == octets.count, names.count(where: { $0 != "identity" && $0 != "chunked" }) <= 16 else { return .invalid }
        }
        if names.isEmpty { return .absent }
        return names.last == "chunked" ? .chunked : .others
    }

    /// Returns the nonempty elements of a list, which commas separate outside quotes.
    private static func elements(_ value: String) -> [String] {
        var (allElements, current, isQuoted, isEscaped): ([[UInt8]], [UInt8], Bool, Bool) = ([], [], false, false)
        for octet in value.unicodeScalars.map({ UInt8($0.value) }) {
            if octet == 44, !isQuoted {
                allElements.append(current)
                current = []
                continue
            }
            current.append(octet)
            if isEscaped {
                isEscaped = false
            } else if octet == 34 {
                isQuoted.toggle()
            } else if octet == 92, isQuoted {
                isEscaped = true
            }
        }
        allElements.append(current)
        return allElements.map { Text.latin1(Text.trimmed($0[...])) }.filter { !$0.isEmpty }
    }
}

/// Parses parameters, each of which is a semicolon, a name and possibly a value.
///
/// Source: RFC 9112, section 7.1.1.
struct ParameterReference {
    /// The position of the first invalid byte; `nil` if all bytes are valid.
    private(set) var firstInvalidOffset: Int?
    /// Whether the text may end here.
    private(set) var isComplete = true

    private let octets: [UInt8]
    private var position = 0

    init(_ octets: ArraySlice<UInt8>) {
        self.octets = Array(octets)
        while true {
            skipBlanks()
            guard let octet = next else { return }
            guard octet == 59, readParameter() else {
                firstInvalidOffset = position
                return
            }
            if !isComplete { return }
        }
    }

    private var next: UInt8? { position < octets.count ? octets[position] : nil }

    /// Reads a parameter from its semicolon on. If the bytes end too early, `isComplete` becomes `false`.
    ///
    /// - Returns: `false` if the byte at the position is invalid.
    private mutating func readParameter() -> Bool {
        position += 1
        isComplete = false
        skipBlanks()
        guard next != nil else { return true }
        guard readToken() else { return false }
        isComplete = true
        skipBlanks()
        guard next == 61 else { return next == nil || next == 59 }
        position += 1
        isComplete = false
        skipBlanks()
        guard let first = next else { return true }
        if first == 34 { return readQuoted() }
        isComplete = true
        return readToken()
    }

    private mutating func readToken() -> Bool {
        let start = position
        while let octet = next, MIMEReference.isToken(Unicode.Scalar(octet)) { position += 1 }
        return position > start
    }

    private mutating func readQuoted() -> Bool {
        position += 1
        while let octet = next {
            if octet == 34 {
                position += 1
                isComplete = true
                return true
            }
            if octet == 92 {
                position += 1
                guard next != nil else { return true }
            }
            guard let content = next, content == 9 || (32...126).contains(content) || content >= 128 else { return false }
            position += 1
        }
        return true
    }

    private mutating func skipBlanks() {
        while next == 32 || next == 9 { position += 1 }
    }
}
