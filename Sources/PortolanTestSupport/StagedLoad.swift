// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore

/// Calls a stage under test as a load does: one call after the other, with a resume after each pause.
package struct StagedLoad {
    package var response: Response
    package var pieces: [[UInt8]]
    package var trailers: HTTPFields?
    /// The error with which the load ends; `nil` if it finishes.
    package var failure: LoadError?
    /// Whether the load reports its end while the client pauses, as if it came with the last bytes.
    package var endsInPause = false

    package init(_ response: Response, _ pieces: [[UInt8]]) {
        self.response = response
        self.pieces = pieces
    }

    /// Sends the events of the load to `stage`, until the end or until the stage returns `.stopped`.
    ///
    /// - Parameter resume: resumes the stage.
    /// - Returns: whether the last result was `.stopped`, as it must be after the end.
    @discardableResult
    package func play(to stage: some ForwardingClient, resume: () -> Flow) -> Bool {
        var flow = stage.didReceive(response, storage: .allowed)
        for (index, piece) in pieces.enumerated() {
            while flow == .pause { flow = resume() }
            if flow == .stopped { return true }
            // The bytes have separate memory, which is freed immediately. So AddressSanitizer finds bytes that are
            // kept without a copy.
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: piece.count, alignment: 1)
            unsafe memory.copyBytes(from: piece)
            flow = unsafe stage.didLoad(UnsafeRawBufferPointer(memory).bytes)
            unsafe memory.initializeMemory(as: UInt8.self, repeating: 0xA5)
            unsafe memory.deallocate()
            if endsInPause, index == pieces.count - 1 { break }
        }
        while flow == .pause, !endsInPause { flow = resume() }
        if flow == .stopped { return true }
        if let trailers { stage.didReceiveTrailers(trailers) }
        if let failure { stage.didFail(with: failure) } else { stage.didFinishLoading() }
        flow = resume()
        while flow == .pause { flow = resume() }
        return flow == .stopped
    }
}
