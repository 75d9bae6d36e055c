// SPDX-License-Identifier: Apache-2.0

extension URLRecord: CustomStringConvertible, CustomReflectable {
    /// The URL for people and logs: without its user information, and without that of URLs inside it, as in
    /// `gzip:http://user:password@host/` and `http://host/?next=http://user:password@other/`. The content of a `data:`
    /// URL is kept. ``string`` is the whole URL.
    public var description: String {
        let text = withoutCredentials.string
        return scheme == "data" ? text : UserInformation.removed(from: text)
    }

    /// Shows no more than ``description``.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
