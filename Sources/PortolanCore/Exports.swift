// SPDX-License-Identifier: Apache-2.0

// URLs are part of every request. PortolanURL is a separate module, because it does not depend on the types of loads.

@_exported public import PortolanURL
