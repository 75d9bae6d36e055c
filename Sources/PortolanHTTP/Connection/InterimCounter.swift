// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax

/// Counts the interim responses before a final one.
struct InterimCounter {
    private var count = 0
    /// The number of those that report the progress of an upload.
    private var progressCount = 0

    /// - Returns: whether the limit still allows the response.
    mutating func count(_ head: ResponseHead, _ limits: HTTPLimits) -> Bool {
        if head.status == Response.uploadProgressStatus {
            progressCount += 1
            return progressCount <= Response.uploadProgressLimit(limits.maximumInterimResponsesPerResponse)
        }
        count += 1
        return count <= limits.maximumInterimResponsesPerResponse
    }
}
