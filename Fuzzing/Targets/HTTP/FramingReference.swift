// SPDX-License-Identifier: Apache-2.0

/// Interprets the fields about framing, all at once.
///
/// Source: RFC 9112, sections 6 and 7; RFC 9110, sections 5.6.1 and 7.6.1.
struct FramingReference {
    enum Lengths: Equatable {
        case absent, invalid
        case length(Int)
    }

    enum Codings {
        case absent, chunked, others, invalid
        /// A coding that the grammar permits, but that is unknown here.
        case unknown
    }

    static let names = ["content-length", "transfer-encoding", "connection"]

    let lengths: Lengths
    let codings: Codings
    let options: [String]
    /// Whether a Transfer-Encoding line is empty. The line has no effect here, but another recipient may interpret it
    /// differently.
    let namesNothing: Bool

    init(_ fields: [[String]]) {
        func values(_ name: String) -> [String]? {
            let found = fields.filter { $0[0].lowercased() == name }.map { $0[1] }
            return found.isEmpty ? nil : found
        }
        lengths = Self.lengths(values("content-length"))
        codings = Self.codings(values("transfer-encoding"))
        namesNothing = (values("transfer-encoding") ?? []).contains { Self.elements($0).isEmpty }
        options = (values("connection") ?? []).flatMap(Self.elements).map { $0.lowercased() }
    }

    /// Requires all elements to be identical, byte by byte, including empty ones (Fetch, "extract a length").
    private static func lengths(_ values: [String]?) -> Lengths {
        guard let values else { return .absent }
        let octets = values.joined(separator: ",").unicodeScalars.map { UInt8($0.value) }
        let elements = Set(octets.split(separator: 44, omittingEmptySubsequences: false).map { Text.latin1(Text.trimmed($0)) })
        guard elements.count == 1, let element = elements.first, let number = Int(element),
            element.unicodeScalars.allSatisfy({ ("0"..."9").contains($0) })
        else { return .invalid }
        return .length(number)
    }

    private static func codings(_ values: [String]?) -> Codings {
        guard let values else { return .absent }
        let known = ["chunked", "identity", "gzip", "x-gzip", "deflate"]
        var names: [String] = []
        for element in values.flatMap(elements) {
            let octets = element.unicodeScalars.map { UInt8($0.value) }
            let name = octets.prefix { MIMEReference.isToken(Unicode.Scalar($0)) }
            let parameters = ParameterReference(octets.dropFirst(name.count))
            guard !name.isEmpty, parameters.firstFault == nil, parameters.isComplete, !names.contains("chunked") else { return .invalid }
            names.append(Text.latin1(name).lowercased())
            guard known.contains(names[names.count - 1]) else { return .unknown }
            guard name.count == octets.count, names.count(where: { $0 != "identity" && $0 != "chunked" }) <= 16 else { return .invalid }
        }
        if names.isEmpty { return .absent }
        return names.last == "chunked" ? .chunked : .others
    }

    /// Returns the nonempty elements of a list.
    private static func elements(_ value: String) -> [String] {
        var (all, current, isQuoted, isEscaped): ([[UInt8]], [UInt8], Bool, Bool) = ([], [], false, false)
        for octet in value.unicodeScalars.map({ UInt8($0.value) }) {
            if octet == 44, !isQuoted {
                all.append(current)
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
        all.append(current)
        return all.map { Text.latin1(Text.trimmed($0[...])) }.filter { !$0.isEmpty }
    }
}

/// Parses names and values behind semicolons, by the grammar.
///
/// Source: RFC 9112, section 7.1.1.
struct ParameterReference {
    /// The number of bytes before the first invalid one.
    private(set) var firstFault: Int?
    /// Whether the text may end here.
    private(set) var isComplete = true

    private let octets: [UInt8]
    private var position = 0

    init(_ octets: ArraySlice<UInt8>) {
        self.octets = Array(octets)
        while true {
            skipBlanks()
            guard let octet = next else { return }
            guard octet == 59, takeParameter() else {
                firstFault = position
                return
            }
            if !isComplete { return }
        }
    }

    private var next: UInt8? { position < octets.count ? octets[position] : nil }

    /// - Returns: `false` if the byte at the position is invalid. If the bytes end, the parameter is incomplete.
    private mutating func takeParameter() -> Bool {
        position += 1
        isComplete = false
        skipBlanks()
        guard next != nil else { return true }
        guard takeToken() else { return false }
        isComplete = true
        skipBlanks()
        guard next == 61 else { return next == nil || next == 59 }
        position += 1
        isComplete = false
        skipBlanks()
        guard let first = next else { return true }
        if first == 34 { return takeQuoted() }
        isComplete = true
        return takeToken()
    }

    private mutating func takeToken() -> Bool {
        let start = position
        while let octet = next, MIMEReference.isToken(Unicode.Scalar(octet)) { position += 1 }
        return position > start
    }

    private mutating func takeQuoted() -> Bool {
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
