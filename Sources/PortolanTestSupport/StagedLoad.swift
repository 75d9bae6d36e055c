// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore

/// A load in front of a stage under test: makes its calls one after the other, waits at each pause, and resumes.
package struct StagedLoad {
    package var response: Response
    package var pieces: [[UInt8]]
    package var trailers: HTTPFields?
    /// How it ends; `nil`: it finishes.
    package var failure: LoadError?
    /// Whether the end is told while the client pauses, as one that came with the last bytes.
    package var endsInPause = false

    package init(_ response: Response, _ pieces: [[UInt8]]) {
        self.response = response
        self.pieces = pieces
    }

    /// Plays it to the end, or to the answer `.stopped`.
    ///
    /// - Parameter resume: what the stage is resumed with.
    /// - Returns: whether each answer was one that the load may get: nothing but `.stopped` after the end.
    @discardableResult
    package func play(to stage: some ForwardingClient, resume: () -> Flow) -> Bool {
        var flow = stage.didReceive(response, storage: .allowed)
        for (index, piece) in pieces.enumerated() {
            while flow == .pause { flow = resume() }
            if flow == .stopped { return true }
            // In memory of its own, freed at once: what is kept without a copy is found by AddressSanitizer.
            let lent = UnsafeMutableRawBufferPointer.allocate(byteCount: piece.count, alignment: 1)
            unsafe lent.copyBytes(from: piece)
            flow = unsafe stage.didLoad(UnsafeRawBufferPointer(lent).bytes)
            unsafe lent.initializeMemory(as: UInt8.self, repeating: 0xA5)
            unsafe lent.deallocate()
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
