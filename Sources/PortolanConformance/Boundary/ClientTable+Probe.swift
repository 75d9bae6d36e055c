// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanPlugins

extension portolan_client {
    /// The functions that a load calls. Each finds its ``ProbeClient`` and forwards the call.
    init(ofRunner: Void) {
        unsafe self.init(
            size: UInt32(MemoryLayout<portolan_client>.size),
            reserved: 0,
            did_receive_interim: { client, response in
                _ = unsafe ProbeClient.at(client).record(.interim(ReadStruct(response.orNil, ReadResponse.init)))
            },
            did_receive_response: { client, response in
                unsafe ProbeClient.at(client).delivery(.response(ReadStruct(response.orNil, ReadResponse.init)))
            },
            did_load: { client, bytes, length in unsafe ProbeClient.at(client).data(bytes, length) },
            did_receive_trailers: { client, fields, count in
                _ = unsafe ProbeClient.at(client).record(.trailers(ReadField.list(fields, count)))
            },
            did_finish: { client in _ = unsafe ProbeClient.at(client).record(.finish) },
            did_fail: { client, error in _ = unsafe ProbeClient.at(client).record(.failure(ReadStruct(error.orNil, ReadError.init))) },
            was_redirected: { client, change, response in
                let call = unsafe ClientCall.redirect(ReadStruct(change.orNil, ReadChange.init), ReadStruct(response, ReadResponse.init))
                return unsafe ProbeClient.at(client).redirect(call)
            },
            cached_response_is_valid: { client, _ in _ = unsafe ProbeClient.at(client).record(.confirmed) },
            read_cached: { client, offset, buffer, capacity in unsafe ProbeClient.at(client).readCached(offset, buffer, capacity) },
            did_receive_challenge: { client, challenge, answer in
                unsafe ProbeClient.at(client).challenge(ReadStruct(challenge.orNil, ReadChallenge.init), answer)
            },
            did_cancel_challenge: { client in unsafe ProbeClient.at(client).cancelChallenge() },
            read_body: { client, buffer, capacity in unsafe ProbeClient.at(client).readBody(buffer, capacity) },
            did_send: { client, total in _ = unsafe ProbeClient.at(client).record(.sent(total)) },
            did_reach: { client, step in _ = unsafe ProbeClient.at(client).record(.reached(step.rawValue)) },
            rewind_body: { client in unsafe ProbeClient.at(client).rewindBody() },
            is_stopped: { client in unsafe ProbeClient.at(client).isStopped() },
            wake: { client in unsafe ProbeClient.at(client).wake() })
    }
}
