// SPDX-License-Identifier: Apache-2.0

extension URLRecord {
    /// The URL for a message: without user information, in quotes, shortened to about 80 bytes.
    package var shortDescription: String {
        let text = description
        let bytes = text.utf8
        guard bytes.count > 80 else { return "'\(text)'" }
        return "'\(String(decoding: bytes.prefix(77), as: UTF8.self))…'"
    }
}
