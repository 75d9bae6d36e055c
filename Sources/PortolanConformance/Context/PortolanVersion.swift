// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// The version of the plugin contract that the runner uses.
enum PortolanVersion {
    static let major = PORTOLAN_ABI_MAJOR
}
