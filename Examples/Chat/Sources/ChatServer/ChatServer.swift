// SPDX-License-Identifier: Apache-2.0

// Passes each line of a client on to the others, over TLS. The first line of a client is its name.
//
//     swift run ChatServer server.pem server.key 7000

import ChatConnection
import Foundation
import PortolanRunLoop
import PortolanStreams

@main
@MainActor struct ChatServer {
    private static var clients: [Int: (connection: ChatConnection, name: String?)] = [:]
    private static var clientCount = 0
    private static let queue = DeliveryQueue(.main)

    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let port = Int(arguments[3]) else { fail("usage: ChatServer CERTIFICATE KEY PORT") }
        do throws(LoadError) {
            let identity = TLSIdentity(certificatePath: arguments[1], keyPath: arguments[2])
            let listener = try SocketListener(port: port, configuration: .tls(TLSServerSettings(identity: identity)))
            try listener.schedule(on: queue) { result in
                MainActor.assumeIsolated {
                    switch result {
                    case .success(let socket): welcome(socket)
                    case .failure(let error): fail(error.message)
                    }
                }
            }
            print("listening on port \(listener.port ?? 0)")
            fflush(nil)
            withExtendedLifetime(listener) { RunLoop.main.run() }
        } catch {
            fail(error.message)
        }
    }

    private static func welcome(_ socket: SocketStreams) {
        clientCount += 1
        let number = clientCount
        // `try?` because new streams can be scheduled.
        let connection = try? ChatConnection(socket, on: queue) { line in
            guard let name = clients[number]?.name else {
                clients[number]?.name = line
                return tell("\(line) is here")
            }
            tell("\(name): \(line)", except: number)
        } onEnd: { error in
            let name = clients.removeValue(forKey: number)?.name
            if let error { print("client \(number): \(error.message)") }
            if let name { tell("\(name) has left") }
        }
        if let connection { clients[number] = (connection, nil) }
    }

    private static func tell(_ line: String, except number: Int? = nil) {
        for (other, client) in clients where other != number && client.name != nil { client.connection.send(line) }
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
        exit(1)
    }
}
