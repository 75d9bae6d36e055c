// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore

/// A load in front of a stage under test. Makes its calls one after the other, waits at each pause, and resumes.
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

    /// Plays the load to its end, or until the stage returns `.stopped`.
    ///
    /// - Parameter resume: resumes the stage.
    /// - Returns: whether the load may receive each of the responses. After the end only `.stopped` is allowed.
    @discardableResult
    package func play(to stage: some ForwardingClient, resume: () -> Flow) -> Bool {
        var flow = stage.didReceive(response, storage: .allowed)
        for (index, piece) in pieces.enumerated() {
            while flow == .pause { flow = resume() }
            if flow == .stopped { return true }
            // The bytes have their own memory, which is freed at once. AddressSanitizer finds bytes that are retained
            // without a copy.
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
