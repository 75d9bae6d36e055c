// SPDX-License-Identifier: Apache-2.0

import CPortolan
import HTTPTypes
import PortolanCore
import PortolanPlugins

/// Converts the events of the handler's load to calls of the C contract.
extension ExportedLoad: ProtocolClient {
    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow {
        deliver(.redirect) { [self] in
            let change = unsafe CStorage<portolan_change>(from: probe.request, to: request)
            let response = unsafe CStorage<portolan_response>(redirectResponse, storage: .notAllowed)
            return unsafe client.pointee.was_redirected(client, change.pointer, response.pointer)
        }
    }

    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) {
        deliver { [self] in
            unsafe client.pointee.cached_response_is_valid(client, nil)
            return PORTOLAN_CONTINUE
        }
    }

    func didReceiveInterim(_ response: Response) {
        deliver { [self] in
            let response = unsafe CStorage<portolan_response>(response, storage: .notAllowed)
            unsafe client.pointee.did_receive_interim(client, response.pointer)
            return PORTOLAN_CONTINUE
        }
    }

    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        deliver(.delivery) { [self] in
            let response = unsafe CStorage<portolan_response>(response, storage: storage)
            return unsafe client.pointee.did_receive_response(client, response.pointer)
        }
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        guard bytes.byteCount > 0 else { return .keepGoing }
        let copy = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
        return deliver(.delivery) { [self] in
            unsafe copy.withUnsafeBytes { unsafe client.pointee.did_load(client, $0.baseAddress, $0.count) }
        }
    }

    func didReceiveTrailers(_ fields: HTTPFields) {
        deliver { [self] in
            let list = unsafe CStorage<FieldList> { arena in
                let (start, count) = unsafe arena.list(fields)
                return unsafe FieldList(start: start, count: count)
            }
            unsafe client.pointee.did_receive_trailers(client, list.pointer.pointee.start, list.pointer.pointee.count)
            return PORTOLAN_CONTINUE
        }
    }

    func didSend(bodyBytes: Int64, total: Int64, expected: Int64?) {
        deliver { [self] in
            unsafe client.pointee.did_send(client, total)
            return PORTOLAN_CONTINUE
        }
    }

    func didReach(_ step: LoadStep) {
        deliver { [self] in
            unsafe client.pointee.did_reach(client, portolan_step(step.rawValue))
            return PORTOLAN_CONTINUE
        }
    }

    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) {
        deliver { [self] in
            let rewound = unsafe client.pointee.rewind_body(client)
            guard rewound != PORTOLAN_STOPPED.rawValue else { return PORTOLAN_STOPPED }
            answer(rewound == 1 ? ExportedBody.body(of: self, length: probe.request.body?.length) : nil)
            return PORTOLAN_CONTINUE
        }
    }

    func didReceive(_ challenge: AuthenticationChallenge) {
        deliver { [self] in
            let challengeStorage = unsafe CStorage<portolan_challenge>(challenge)
            var answerPointer: UnsafePointer<portolan_answer>?
            keep(challenge)
            let flow = unsafe client.pointee.did_receive_challenge(client, challengeStorage.pointer, &answerPointer)
            if flow == PORTOLAN_CONTINUE, let answer = unsafe answerPointer {
                keep(nil)
                challenge.answer(unsafe ChallengeAnswer(borrowed: answer.pointee, to: challenge.protectionSpace.kind))
            }
            return flow
        }
    }

    func didCancel(_ challenge: AuthenticationChallenge) {
        deliver { [self] in
            keep(nil)
            unsafe client.pointee.did_cancel_challenge(client)
            return PORTOLAN_CONTINUE
        }
    }

    func didFinishLoading() {
        deliver(.finish) { [self] in
            unsafe client.pointee.did_finish(client)
            return PORTOLAN_CONTINUE
        }
    }

    func didFail(with error: LoadError) {
        deliver(.failure) { [self] in
            let error = unsafe CStorage<portolan_error>(error)
            unsafe client.pointee.did_fail(client, error.pointer)
            return PORTOLAN_CONTINUE
        }
    }

    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        ExportedNestedLoad(request, client, by: probe.nestedLoads)
    }
}

@unsafe
private struct FieldList {
    let start: UnsafePointer<portolan_field>?
    let count: Int
}
