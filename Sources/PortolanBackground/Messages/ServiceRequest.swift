// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import PortolanCore

    /// What a program asks the service, as one line of JSON.
    enum ServiceRequest: Codable, Sendable {
        /// - Parameter key: a random text, so that a request that is repeated after a lost answer adds nothing twice.
        case add(key: String, session: String, task: TransferDescription)
        /// Lists the transfers of a session; `nil` for those of all sessions.
        case list(session: String?)
        case show(id: Int64)
        case cancel(id: Int64)
        case resume(id: Int64, user: String?, password: String?)
        /// From now on the service sends the ends of the session's transfers, and receives ``acknowledge(_:)``.
        case attach(session: String)
        /// The program has received an end.
        case acknowledge(EndIdentifier)
    }

    /// Identifies the end of a transfer. If the transfer is resumed after it, its next end has another identifier.
    struct EndIdentifier: Codable, Hashable, Sendable {
        let id: Int64
        let round: Int
    }

    /// What the service answers, as one line of JSON.
    enum ServiceAnswer: Codable, Sendable {
        case transfer(BackgroundTransfer)
        case transfers([BackgroundTransfer])
        /// The session is attached.
        case attached
        /// A transfer has ended. Sent again to the next program, if this one does not acknowledge it.
        case ended(BackgroundTransfer, EndIdentifier)
        /// All ends were acknowledged, and no transfer is waiting or running.
        ///
        /// - Parameter needCredential: the transfers that need a credential.
        case idle(needCredential: [BackgroundTransfer])
        case failed(code: Int32, message: String)
    }

    enum ServiceMessage {
        /// The longest request in bytes. One with the largest accepted header fields is shorter.
        static let requestLimit = 1 << 20
        /// The longest answer in bytes. A list of 10,000 transfers is shorter.
        static let answerLimit = 256 << 20

        static func encode(_ message: some Encodable) throws(LoadError) -> [UInt8] {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            do {
                return Array(try encoder.encode(message)) + [0x0A]
            } catch {
                throw LoadError(.badRequest, message: "the transfer can't be written as JSON", underlyingError: error)
            }
        }

        static func decode<Message: Decodable>(_ type: Message.Type, from line: [UInt8]) throws(LoadError) -> Message {
            do {
                return try JSONDecoder().decode(type, from: Data(line))
            } catch {
                throw LoadError(
                    .badResponse, message: "a message on the socket of the transfer service is not understood", underlyingError: error)
            }
        }
    }
#endif
