// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// What a load reports to, and asks: the host's client, with Swift values for the C ones.
///
/// Every function is called on the load's thread alone, and waits where the host has to: while the reader is slow, the body has nothing
/// yet, or somebody thinks of a password. A function that throws ``Interruption/stopped`` was told that nobody wants the rest.
// @unchecked Sendable … because the host keeps the client until `destroy` has returned, and only the load's thread calls it.
@safe
struct Client: @unchecked Sendable {
    private let pointer: UnsafeMutablePointer<portolan_client>

    init(_ pointer: UnsafeMutablePointer<portolan_client>) {
        unsafe self.pointer = unsafe pointer
    }

    // MARK: Reports

    func didReceiveInterim(_ response: Response) {
        let arena = Arena()
        var lent = unsafe arena.response(response)
        unsafe pointer.pointee.did_receive_interim(pointer, &lent)
        withExtendedLifetime(arena) {}
    }

    func didReceive(_ response: Response) throws(Interruption) {
        let arena = Arena()
        var lent = unsafe arena.response(response)
        let flow = unsafe pointer.pointee.did_receive_response(pointer, &lent)
        withExtendedLifetime(arena) {}
        try check(flow)
    }

    /// The bytes are read where they lie, before this returns.
    func didLoad(_ bytes: borrowing RawSpan) throws(Interruption) {
        let flow = unsafe bytes.withUnsafeBytes { unsafe pointer.pointee.did_load(pointer, $0.baseAddress, $0.count) }
        try check(flow)
    }

    func didReceiveTrailers(_ fields: [Field]) {
        let arena = Arena()
        unsafe pointer.pointee.did_receive_trailers(pointer, arena.fields(fields), fields.count)
        withExtendedLifetime(arena) {}
    }

    func didReach(_ step: Step) {
        unsafe pointer.pointee.did_reach(pointer, portolan_step(rawValue: step.rawValue))
    }

    func didSend(total: Int64) {
        unsafe pointer.pointee.did_send(pointer, total)
    }

    /// Says that the resource is elsewhere. Taken, that is an end, and this throws; else `response` and its body are still to be delivered.
    func wasRedirected(to url: String, _ response: Response) throws(Interruption) {
        let arena = Arena()
        var change = unsafe portolan_change()
        unsafe change.size = UInt32(MemoryLayout<portolan_change>.size)
        unsafe change.url = arena.string(url)
        var lent = unsafe arena.response(response)
        let flow = unsafe pointer.pointee.was_redirected(pointer, &change, &lent)
        withExtendedLifetime(arena) {}
        try check(flow)
    }

    func didFinish() {
        unsafe pointer.pointee.did_finish(pointer)
    }

    func didFail(_ failure: Failure) {
        let arena = Arena()
        var error = unsafe arena.error(failure)
        unsafe pointer.pointee.did_fail(pointer, &error)
        withExtendedLifetime(arena) {}
    }

    // MARK: Questions

    /// Reads the next bytes of the upload body into `buffer`, which is not empty.
    ///
    /// - Returns: how many there are; 0 at its end.
    func readBody(into buffer: inout [UInt8]) throws(Interruption) -> Int {
        let count = unsafe buffer.withUnsafeMutableBytes { buffer -> Int64 in
            guard let start = buffer.baseAddress else { return 0 }
            return unsafe pointer.pointee.read_body(pointer, start, buffer.count)
        }
        guard count >= 0 else { throw .stopped }  // or the body failed: the host has ended the load with the body's own cause
        return Int(count)
    }

    /// Asks for a user and a password, and waits for the answer.
    ///
    /// - Parameter isRight: judges them where they lie; nothing is kept of them.
    func ask(
        _ question: Question, isRight: (_ user: borrowing RawSpan, _ password: borrowing RawSpan) -> Bool
    ) throws(Interruption) -> Reply {
        let arena = Arena()
        var challenge = unsafe portolan_challenge()
        unsafe challenge.size = UInt32(MemoryLayout<portolan_challenge>.size)
        unsafe challenge.method = PORTOLAN_ASK_PASSWORD
        unsafe challenge.protocol = arena.string(question.protocolName)
        unsafe challenge.host = arena.string(question.host)
        unsafe challenge.realm = arena.string(question.realm)
        unsafe challenge.port = question.port.map(Int32.init) ?? -1
        unsafe challenge.failure_count = question.failureCount
        var previous = unsafe question.previous.map { unsafe arena.error($0) } ?? portolan_error()
        var answer: UnsafePointer<portolan_answer>?
        let flow = unsafe withUnsafePointer(to: &previous) { previous in
            unsafe challenge.previous = question.previous == nil ? nil : previous
            return unsafe pointer.pointee.did_receive_challenge(pointer, &challenge, &answer)
        }
        withExtendedLifetime(arena) {}
        try check(flow)
        guard let answer = unsafe answer else { return .none }
        switch unsafe answer.pointee.disposition {
        case PORTOLAN_USE:
            return unsafe answer.pointee.user.withBytes { user in
                unsafe answer.pointee.password.withBytes { password in isRight(user, password) ? .right : .wrong }
            }
        case PORTOLAN_CANCEL: return .cancelled
        default: return .none
        }
    }

    private func check(_ flow: portolan_flow) throws(Interruption) {
        if flow == PORTOLAN_STOPPED { throw .stopped }
    }
}
