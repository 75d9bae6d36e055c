// SPDX-License-Identifier: Apache-2.0

/// ``ReplayHandler`` and ``Recording`` stand beside the stub.
@_exported public import PortolanTrace
