// SPDX-License-Identifier: Apache-2.0

import Testing

/// One after another: what is measured shares the processors with no other test.
@Suite(.serialized) struct BenchTests {}
