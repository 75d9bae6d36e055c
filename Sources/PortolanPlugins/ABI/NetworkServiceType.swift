// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// The kind of a load's traffic, for handlers that can mark their packets.
public enum NetworkServiceType: Int32, Hashable, Sendable, CaseIterable {
    case standard = 0
    /// A person waits for the data.
    case responsiveData
    /// No person waits for the data.
    case background
    case video, voice
}

extension Request {
    /// The kind of traffic, for plugins. The built-in handlers ignore it.
    public var networkServiceType: NetworkServiceType {
        get { NetworkServiceType(rawValue: networkServiceTypeValue) ?? .standard }
        set { networkServiceTypeValue = newValue.rawValue }
    }
}
