// SPDX-License-Identifier: Apache-2.0

// URLs are part of every request. PortolanURL is a module of its own because it knows nothing of loads.

@_exported public import PortolanURL
