// SPDX-License-Identifier: Apache-2.0

// What an author of a handler in Swift needs, beside what `import Portolan` gives: ``ProtocolHandler``,
// ``ProtocolLoad``, ``ProtocolClient``, forwarding clients, scripted loads, clocks and threads. It depends on neither
// `http:` nor plugins.

@_exported public import HTTPTypes
@_exported public import PortolanCore
