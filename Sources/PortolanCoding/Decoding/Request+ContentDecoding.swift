// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

extension Request {
    private static let keepsContentCoding = "org.portolan.http.keeps-content-coding"

    /// Whether content codings, such as gzip, are decoded. `true` by default. If it is `false`, the body is delivered
    /// as it was received, and `Response.remainingContentCodings` names all of its codings.
    public var decodesContent: Bool {
        get { properties[Self.keepsContentCoding] != .boolean(true) }
        set { properties[Self.keepsContentCoding] = newValue ? nil : .boolean(true) }
    }
}
