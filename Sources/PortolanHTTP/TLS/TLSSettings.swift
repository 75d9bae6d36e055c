// SPDX-License-Identifier: Apache-2.0

/// How connections are made secure.
public struct TLSSettings: Sendable {
    public init() {}
}
