// SPDX-License-Identifier: Apache-2.0

extension URLRecord {
    /// The URL for people and logs: without its user information, and without that of URLs inside it, as in
    /// `gzip:http://user:password@host/` and `http://host/?next=http://user:password@other/`. The content of a `data:`
    /// URL is kept.
    package var redacted: String {
        let text = withoutCredentials.description
        return scheme == "data" ? text : UserInformation.removed(from: text)
    }
}
