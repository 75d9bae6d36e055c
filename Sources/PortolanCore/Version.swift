// SPDX-License-Identifier: Apache-2.0

/// This release (Semantic Versioning 2.0).
public let portolanVersion = "0.1.0"
