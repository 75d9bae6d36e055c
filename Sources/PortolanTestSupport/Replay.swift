// SPDX-License-Identifier: Apache-2.0

/// Re-exports ``ReplayHandler`` and ``Recording``, for use beside the stub.
@_exported public import PortolanTrace
