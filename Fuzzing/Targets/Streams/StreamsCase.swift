// SPDX-License-Identifier: Apache-2.0

/// Plays a script on an input and an output stream: calls of the program, jobs of its queues, and the results of a
/// custom source and sink. The events, bytes, statuses and calls of the endpoint must be those that the documentation
/// of the streams promises.
///
/// The first three bytes select the kind of the streams and their size. Each further byte is a step, or a value that a
/// step, a handler or an endpoint needs. Everything runs on one thread, so no call may wait: a stream without a handler
/// is read or written only if it has just said that it is ready.
enum StreamsCase {
    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        let play = StreamPlay(input)
        try play.run()
        try play.finish()
    }
}
