// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanHTTP

/// Decodes the chunked coding.
///
/// Source: RFC 9112, section 7.1.
extension Reading {
    mutating func chunks() throws(ResponseOutcome) -> (body: [UInt8], trailers: [[String]]) {
        var body: [UInt8] = []
        while true {
            let size = try chunkSize()
            if size == 0 { break }
            body += rest.prefix(size)
            guard rest.count >= size else { throw .failure(.truncated) }
            rest = rest.dropFirst(size)
            try expect([13, 10])
        }
        return (body, try section(limits.maximumTrailerSectionBytes).fields)
    }

    private mutating func chunkSize() throws(ResponseOutcome) -> Int {
        let digits = rest.prefix { (48...57).contains($0) || (65...70).contains($0) || (97...102).contains($0) }
        guard !digits.isEmpty else { throw .failure(rest.isEmpty ? .truncated : .badResponse) }
        rest = rest.dropFirst(digits.count)
        let zeros = digits.prefix { $0 == 48 }.count
        let paddingZeros = zeros == digits.count ? zeros - 1 : zeros
        let allowedBytes = min(limits.maximumChunkExtensionBytes, limits.maximumChunkExtensionBytesPerBody - extensionBytes)
        guard paddingZeros <= allowedBytes else { throw .failure(.limitExceeded) }
        let size = zeros == digits.count ? 0 : Int(Text.latin1(digits), radix: 16)
        guard let size else { throw .failure(.badResponse) }

        let text = rest.prefix { $0 != 13 }
        let parameters = ParameterReference(text)
        // An invalid byte counts towards the limit, too.
        let invalidOffset = parameters.firstInvalidOffset ?? (parameters.isComplete || text.count == rest.count ? nil : text.count)
        guard paddingZeros + (invalidOffset.map { $0 + 1 } ?? text.count) <= allowedBytes else { throw .failure(.limitExceeded) }
        guard invalidOffset == nil else { throw .failure(.badResponse) }
        extensionBytes += paddingZeros + text.count
        rest = rest.dropFirst(text.count)
        try expect([13, 10])
        return size
    }

    /// Reads exactly these bytes.
    private mutating func expect(_ octets: [UInt8]) throws(ResponseOutcome) {
        for octet in octets {
            guard let next = rest.popFirst() else { throw .failure(.truncated) }
            guard next == octet else { throw .failure(.badResponse) }
        }
    }
}
