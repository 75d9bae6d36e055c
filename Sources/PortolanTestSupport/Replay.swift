// SPDX-License-Identifier: Apache-2.0

/// Re-exports ``ReplayHandler`` and ``Recording``, so that a test can use them together with ``StubHandler``.
@_exported public import PortolanTrace
