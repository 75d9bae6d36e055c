// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// The version of the contract that the judge speaks.
enum PortolanVersion {
    static let major = PORTOLAN_ABI_MAJOR
}
