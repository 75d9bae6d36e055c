// SPDX-License-Identifier: Apache-2.0

extension MIMEType {
    /// `application/octet-stream`: bytes of an unknown kind.
    public static let octetStream = MIMEType(unchecked: "application/octet-stream")

    /// `text/plain`.
    public static let plainText = MIMEType(unchecked: "text/plain")

    /// `text/plain;charset=US-ASCII`, the type of a `data:` URL that specifies none (WHATWG Fetch, `data:` URL
    /// processor).
    package static let plainASCIIText = MIMEType(unchecked: "text/plain", parameters: [Parameter(name: "charset", value: "US-ASCII")])

    /// `text/html`.
    public static let html = MIMEType(unchecked: "text/html")

    /// `application/json`.
    public static let json = MIMEType(unchecked: "application/json")

    /// `application/xml`.
    public static let xml = MIMEType(unchecked: "application/xml")

    /// `application/x-www-form-urlencoded`.
    public static let urlEncodedForm = MIMEType(unchecked: "application/x-www-form-urlencoded")
}
