// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Asks for a body as it is on the wire: no content coding is undone, and `Response.remainingContentCodings` names them all.
///
///     request[DisablesContentDecoding.self] = true
public enum DisablesContentDecoding: RequestPropertyKey {
    public static let name = "org.portolan.http.keeps-content-coding"
    public typealias Value = Bool
}
