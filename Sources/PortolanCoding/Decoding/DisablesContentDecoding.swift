// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Requests the body as it is on the wire. No content coding is decoded, and `Response.remainingContentCodings` names
/// all of them.
///
///     request[DisablesContentDecoding.self] = true
public enum DisablesContentDecoding: RequestPropertyKey {
    public static let name = "org.portolan.http.keeps-content-coding"
    public typealias Value = Bool
}
