// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// A stage that holds back what its client has no room for: one event of the load's can become many of the client's, and a pause can come
/// after any.
///
/// The load answers for it:
/// 1. It calls the outermost stage where it would call its client. All calls of one load, ``resume()`` too, are serial.
/// 2. On ``ProtocolLoad/resumeLoading()`` it calls ``resume()`` first, and goes on itself only where that answers `.keepGoing`. It does
///    so also after its own end: an end that comes in a pause is kept until all before it was delivered.
/// 3. After `.stopped` it calls no more: the client was told the end, or wants none. A stage that fails the load answers so.
/// 4. On ``ProtocolLoad/stopLoading()`` it lets go of the stage.
package protocol ResumableStage: ForwardingClient {
    /// The client wants more: delivers what was held back, by the stages behind this one first.
    ///
    /// - Returns: `.keepGoing`: nothing is held back any more, the load may go on. `.pause`: the client paused again.
    ///   `.stopped`: the load is over; the client has been told the end, where there was one.
    func resume() -> Flow

    /// Whether something waits for ``resume()``, here or in a stage behind.
    var isHolding: Bool { get }
}
