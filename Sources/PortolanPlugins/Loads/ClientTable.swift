// SPDX-License-Identifier: Apache-2.0

import CPortolan

extension UnsafeMutablePointer<portolan_client> {
    /// Calls `operation` with the load that this client serves. The load outlives the call, so no reference counting is
    /// needed.
    @inline(__always)
    func withLoad<Result>(_ operation: (HostedLoad) -> Result) -> Result {
        unsafe CallbackTable.object(of: self, as: HostedLoad.self)._withUnsafeGuaranteedRef(operation)
    }
}

extension portolan_client {
    /// The functions that a plugin's load calls. Each of them finds its load and forwards to it.
    init(ofHostedLoad: Void) {
        unsafe self.init(
            size: UInt32(MemoryLayout<portolan_client>.size),
            reserved: 0,
            did_receive_interim: { client, response in unsafe client.withLoad { unsafe $0.didReceiveInterim(response.orNil) } },
            did_receive_response: { client, response in unsafe client.withLoad { unsafe $0.didReceive(response.orNil) } },
            did_load: { client, bytes, length in unsafe client.withLoad { unsafe $0.didLoad(bytes, length) } },
            did_receive_trailers: { client, fields, count in unsafe client.withLoad { unsafe $0.didReceiveTrailers(fields, count) } },
            did_finish: { client in unsafe client.withLoad { $0.didFinish() } },
            did_fail: { client, error in unsafe client.withLoad { unsafe $0.didFail(error.orNil) } },
            was_redirected: { client, change, response in
                unsafe client.withLoad { unsafe $0.wasRedirected(to: change.orNil, response) }
            },
            cached_response_is_valid: { client, newer in unsafe client.withLoad { unsafe $0.cachedResponseIsValid(newer) } },
            read_cached: { client, offset, buffer, capacity in
                unsafe client.withLoad { unsafe $0.readCached(offset, buffer.orNil, capacity) }
            },
            did_receive_challenge: { client, challenge, place in
                unsafe client.withLoad { unsafe $0.didReceive(challenge.orNil, place) }
            },
            did_cancel_challenge: { client in unsafe client.withLoad { $0.didCancelChallenge() } },
            read_body: { client, buffer, capacity in unsafe client.withLoad { unsafe $0.readBody(buffer.orNil, capacity) } },
            did_send: { client, total in unsafe client.withLoad { $0.didSend(total) } },
            did_reach: { client, step in unsafe client.withLoad { $0.didReach(step) } },
            rewind_body: { client in unsafe client.withLoad { $0.rewindBody() } },
            is_stopped: { client in unsafe client.withLoad { $0.isOver ? 1 : 0 } },
            wake: { client in unsafe client.withLoad { $0.wake() } })
    }
}
