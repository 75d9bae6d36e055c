// SPDX-License-Identifier: Apache-2.0

import Testing

/// The tests run serially, so that no other test uses the processors during a measurement.
@Suite(.serialized) struct BenchTests {}
