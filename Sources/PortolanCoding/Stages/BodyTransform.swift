// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// Transforms a response and its body for a ``TransformStage``. It consumes bytes from a given position on, and
/// delivers the result to the client.
///
/// It retains only the input that it needs to continue, and at most one buffer of output. The stage buffers input that
/// was not consumed.
package protocol BodyTransform: ~Copyable {
    /// Begins a response whose body follows. May change the response.
    ///
    /// - Throws: the error with which the load fails instead.
    mutating func begin(_ response: inout Response) throws(LoadError) -> BodyTreatment

    /// Consumes bytes of `input` from `position` on, advances `position`, and delivers the result.
    ///
    /// - Returns: `.keepGoing` if all input was consumed and delivered. Otherwise the client's result of the last
    ///   delivery. The stage calls this again with the rest, which may be empty, once the client resumes.
    /// - Throws: the error with which the load fails, after everything before the error was delivered.
    mutating func advance(_ input: borrowing RawSpan, from position: inout Int, to client: any ProtocolClient) throws(LoadError) -> Flow

    /// Ends the body, after all of it was consumed. Delivers data that was buffered to see how the body continues.
    ///
    /// - Returns: as ``advance(_:from:to:)``. After `.pause` the stage calls this again.
    /// - Throws: the error with which the load fails instead of finishing.
    mutating func finish(to client: any ProtocolClient) throws(LoadError) -> Flow
}

/// How a ``BodyTransform`` treats a response.
package enum BodyTreatment: Sendable {
    /// Response and body pass unchanged.
    case passes
    /// The response passes, the body is transformed.
    case transforms
    /// The response does not pass. The transform makes other responses.
    case replaces
}
