// SPDX-License-Identifier: Apache-2.0

package import PortolanCoding
package import PortolanCore

package struct MultipartReplacement: BodyTransform {
    package init(for request: Request, limits: MultipartLimits) {}

    package mutating func begin(_ response: inout Response) throws(LoadError) -> BodyTreatment { .passes }

    package mutating func advance(
        _ input: borrowing RawSpan, from position: inout Int, to client: any ProtocolClient
    ) throws(LoadError) -> Flow {
        .keepGoing
    }

    package mutating func finish(to client: any ProtocolClient) throws(LoadError) -> Flow { .keepGoing }
}

/// Makes each part of a `multipart/x-mixed-replace` body a response of its own, between a load and its client.
package typealias MultipartReplaceStage = TransformStage<MultipartReplacement>

extension MultipartReplaceStage {
    package convenience init(for request: Request, limits: MultipartLimits = MultipartLimits(), next: any ProtocolClient) {
        self.init(MultipartReplacement(for: request, limits: limits), next: next)
    }
}
