// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCore
    import Synchronization

    /// Serves the requests of one program, on one thread. A second thread sends the ends of transfers.
    final class ServiceConnection: Sendable {
        private let connection: LineConnection
        private let queue: TransferQueue

        init(_ connection: LineConnection, _ queue: TransferQueue) { (self.connection, self.queue) = (connection, queue) }

        /// Returns when the program is gone, or has sent something that is not a request.
        func serve() {
            var attachment: (session: String, number: Int)?
            defer {
                if let attachment { queue.detach(attachment.session, attachment.number) }
                connection.shutDown()
            }
            do throws(LoadError) {
                while let line = try connection.readLine() {
                    let request = try ServiceMessage.decode(ServiceRequest.self, from: line)
                    do throws(LoadError) {
                        switch request {
                        case .attach(let session):
                            guard attachment == nil else {
                                throw LoadError(.badRequest, message: "the connection already receives the ends of a session")
                            }
                            let number = try queue.attach(session)
                            attachment = (session, number)
                            try connection.write(ServiceAnswer.attached)
                            try PlatformThread.start { [connection, queue] in Self.sendEvents(of: session, number, queue, connection) }
                        case .acknowledge(let end):
                            guard let attachment else {
                                throw LoadError(.badRequest, message: "only an attached program acknowledges the end of a transfer")
                            }
                            // No answer is sent, because events can come before it.
                            queue.acknowledge(end, session: attachment.session)
                        default: try connection.write(try answer(request))
                        }
                    } catch {
                        try connection.write(ServiceAnswer(error))
                    }
                }
            } catch {
                // `try?` because the peer may be gone.
                _ = try? connection.write(ServiceAnswer(error))
            }
        }

        private func answer(_ request: ServiceRequest) throws(LoadError) -> ServiceAnswer {
            switch request {
            case .add(let key, let session, let task): .transfer(try queue.add(key: key, session: session, task))
            case .list(let session): .transfers(queue.list(session))
            case .show(let id): .transfer(try queue.show(id))
            case .cancel(let id): .transfer(try queue.cancel(id))
            case .resume(let id, let user, let password): .transfer(try queue.resume(id, user: user, password: password))
            case .attach, .acknowledge: throw LoadError(.badRequest, message: "the request has no answer")
            }
        }

        private static func sendEvents(of session: String, _ number: Int, _ queue: TransferQueue, _ connection: LineConnection) {
            var sent: Set<EndIdentifier> = []
            var wasIdle = false
            while let event = queue.nextEvent(of: session, number, sent: sent, wasIdle: wasIdle) {
                let answer: ServiceAnswer
                switch event {
                case .ended(let transfer, let end):
                    sent.insert(end)
                    (answer, wasIdle) = (.ended(transfer, end), false)
                case .idle(let transfers): (answer, wasIdle) = (.idle(needCredential: transfers), true)
                }
                // `try?` because an event that can't be sent ends the connection, and is sent to the next program.
                guard (try? connection.write(answer)) == true else { break }
            }
            // Also when the service ends: the program must not wait for more.
            connection.shutDown()
        }
    }

    extension ServiceAnswer {
        init(_ error: LoadError) { self = .failed(code: error.code.rawValue, message: error.description) }
    }
#endif
