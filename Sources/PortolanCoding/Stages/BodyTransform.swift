// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// What a ``TransformStage`` makes of a response and its body: it takes bytes from where it is told and calls the client with what they
/// stand for.
///
/// It keeps of the input only what it needs to go on, and never more output than one buffer: input that it does not take is kept for it.
package protocol BodyTransform: ~Copyable {
    /// A response begins, whose body is to follow. May change the response.
    ///
    /// - Throws: with what the load fails instead.
    mutating func begin(_ response: inout Response) throws(LoadError) -> BodyTreatment

    /// Takes bytes of `input` from `position` on, moves that past them, and delivers.
    ///
    /// - Returns: `.keepGoing`: all was taken, and nothing waits to be delivered. Otherwise the client's answer to what was delivered
    ///   last: this is called again with the rest, which may be empty, once the client goes on.
    /// - Throws: with what the load fails, when all that comes before it was delivered.
    mutating func advance(_ input: borrowing RawSpan, from position: inout Int, to client: any ProtocolClient) throws(LoadError) -> Flow

    /// The body is over and all of it was taken: delivers what was kept to see how it goes on.
    ///
    /// - Returns: as ``advance(_:from:to:)``; after `.pause`, called again.
    /// - Throws: with what the load fails instead of finishing.
    mutating func finish(to client: any ProtocolClient) throws(LoadError) -> Flow
}

/// What a ``BodyTransform`` does with a response.
package enum BodyTreatment: Sendable {
    /// Response and body pass as they are.
    case passes
    /// The response passes, the body is transformed.
    case transforms
    /// The response does not pass: the transform makes others.
    case replaces
}
