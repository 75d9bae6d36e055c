// SPDX-License-Identifier: Apache-2.0

// The URLs of a handler and their expected results: what ``ConformanceTarget`` takes besides the types of Portolan.

@_exported public import struct `PortolanPlugins`.ConformanceLoad
@_exported public import struct `PortolanPlugins`.ConformanceSection
