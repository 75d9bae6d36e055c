// SPDX-License-Identifier: Apache-2.0

extension MIMEType {
    /// `application/octet-stream`: bytes of which nothing more is known.
    public static let octetStream = MIMEType(unchecked: "application/octet-stream")

    /// `text/plain`.
    public static let plainText = MIMEType(unchecked: "text/plain")

    /// `text/plain;charset=US-ASCII`, what a `data:` URL holds when it does not say (WHATWG Fetch, `data:` URL processor).
    public static let plainASCIIText = MIMEType(unchecked: "text/plain", parameters: [Parameter(name: "charset", value: "US-ASCII")])

    /// `text/html`.
    public static let html = MIMEType(unchecked: "text/html")

    /// `application/json`.
    public static let json = MIMEType(unchecked: "application/json")

    /// `application/xml`.
    public static let xml = MIMEType(unchecked: "application/xml")

    /// `application/x-www-form-urlencoded`.
    public static let urlEncodedForm = MIMEType(unchecked: "application/x-www-form-urlencoded")
}
