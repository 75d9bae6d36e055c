// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import PortolanCoding
package import PortolanCore

/// Makes the stages between a load and its client that a response's body needs.
///
/// Most responses need none. Two stages that only forward would cost half a microsecond per load (measured).
package struct BodyStages: Sendable {
    private let decoding: ContentDecodingLimits
    private let multipart: MultipartLimits

    package init(decoding: ContentDecodingLimits = ContentDecodingLimits(), multipart: MultipartLimits = MultipartLimits()) {
        self.decoding = decoding
        self.multipart = multipart
    }

    /// - Returns: the stage that receives `response` and all later events in place of `client`; `nil` if no stage is
    ///   needed.
    package func make(for response: Response, to request: Request, client: any ProtocolClient) -> (any ResumableStage)? {
        make(for: response, isCoded: response.fields.contains(.contentEncoding), to: request, client: client)
    }

    /// - Parameters:
    ///   - isCoded: whether the response has a content or transfer coding.
    ///   - transferCodings: the transfer codings other than chunked, in the order in which they were applied.
    func make(
        for response: Response, isCoded: Bool, transferCodings: [ContentCoding] = [], to request: Request, client: any ProtocolClient
    ) -> (any ResumableStage)? {
        var stage: (any ResumableStage)?
        if MultipartReplacement.isMultipartReplace(response) {
            stage = MultipartReplaceStage(for: request, limits: multipart, next: client)
        }
        if isCoded {
            let decoding = ContentDecoding(for: request, transferCodings: transferCodings, limits: decoding)
            stage = ContentDecodingStage(decoding, next: stage ?? client)
        }
        return stage
    }
}
