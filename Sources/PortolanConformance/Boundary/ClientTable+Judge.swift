// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanPlugins

extension portolan_client {
    /// The functions that a load calls, each of which finds the judge's client and hands over.
    init(ofJudge: Void) {
        unsafe self.init(
            size: UInt32(MemoryLayout<portolan_client>.size),
            reserved: 0,
            did_receive_interim: { client, response in
                _ = unsafe JudgeClient.at(client).take(.interim(Given(response.orNil, GivenResponse.init)))
            },
            did_receive_response: { client, response in
                unsafe JudgeClient.at(client).delivery(.response(Given(response.orNil, GivenResponse.init)))
            },
            did_load: { client, bytes, length in unsafe JudgeClient.at(client).data(bytes, length) },
            did_receive_trailers: { client, fields, count in
                _ = unsafe JudgeClient.at(client).take(.trailers(GivenField.list(fields, count)))
            },
            did_finish: { client in _ = unsafe JudgeClient.at(client).take(.finish) },
            did_fail: { client, error in _ = unsafe JudgeClient.at(client).take(.failure(Given(error.orNil, GivenError.init))) },
            was_redirected: { client, change, response in
                let call = unsafe ClientCall.redirect(Given(change.orNil, GivenChange.init), Given(response, GivenResponse.init))
                return unsafe JudgeClient.at(client).redirect(call)
            },
            cached_response_is_valid: { client, _ in _ = unsafe JudgeClient.at(client).take(.confirmed) },
            read_cached: { client, _, _, _ in
                unsafe JudgeClient.at(client).take(.readCached) == PORTOLAN_STOPPED ? Int64(PORTOLAN_STOPPED.rawValue) : 0
            },
            did_receive_challenge: { client, challenge, answer in
                unsafe JudgeClient.at(client).challenge(Given(challenge.orNil, GivenChallenge.init), answer)
            },
            did_cancel_challenge: { client in _ = unsafe JudgeClient.at(client).take(.cancelledChallenge) },
            read_body: { client, buffer, capacity in unsafe JudgeClient.at(client).readBody(buffer, capacity) },
            did_send: { client, total in _ = unsafe JudgeClient.at(client).take(.sent(total)) },
            did_reach: { client, step in _ = unsafe JudgeClient.at(client).take(.reached(step.rawValue)) },
            rewind_body: { client in unsafe JudgeClient.at(client).rewindBody() },
            is_stopped: { client in unsafe JudgeClient.at(client).isStopped() },
            wake: { client in unsafe JudgeClient.at(client).wake() })
    }
}
