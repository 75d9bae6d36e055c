// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCoding
import PortolanCore

extension HTTPConfiguration {
    /// What stands between a connection and the client for one answer: what undoes its content codings, and what takes its parts from each other.
    ///
    /// - Returns: `nil` where the body goes to the client as it comes.
    func stage(for answer: Answer, of request: Request, client: any ProtocolClient) -> (any ResumableStage)? {
        var stage: (any ResumableStage)?
        if answer.response.mimeType?.essence == "multipart/x-mixed-replace" {
            stage = MultipartReplaceStage(for: request, limits: parts, next: client)
        }
        let transferCodings = answer.head.framing.transferCodings
        if answer.hasContentCoding || !transferCodings.isEmpty {
            stage = ContentDecodingStage(for: request, limits: decoding, transferCodings: transferCodings, next: stage ?? client)
        }
        return stage
    }
}
