// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// A stage that buffers data for which its client has no room. One event of the load can become many events of the
/// client, and a pause can come after any of them.
///
/// Obligations of the load:
/// 1. It calls the outermost stage instead of its client. All calls of one load, including ``resume()``, are serial.
/// 2. On ``ProtocolLoad/resumeLoading()`` it calls ``resume()`` first, and continues only if that returns `.keepGoing`.
///    It also does so after its own end, because an end during a pause is buffered until everything before it was
///    delivered.
/// 3. After `.stopped` it makes no more calls. The client has received the end, or has stopped the load. A stage that
///    fails the load returns `.stopped`.
/// 4. On ``ProtocolLoad/stopLoading()`` it releases the stage.
package protocol ResumableStage: ForwardingClient {
    /// Delivers buffered events after the client has resumed. Stages closer to the client deliver first.
    ///
    /// - Returns: `.keepGoing` if nothing is buffered any more; the load may continue. `.pause` if the client paused
    ///   again. `.stopped` if the load is over; the client has received the end, if there was one.
    func resume() -> Flow

    /// Whether events wait for ``resume()``, in this stage or in one closer to the client.
    var hasBufferedEvents: Bool { get }
}
