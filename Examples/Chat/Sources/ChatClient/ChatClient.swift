// SPDX-License-Identifier: Apache-2.0

// Sends the lines of standard input to a ChatServer, and prints what the others write. AUTHORITY is a file with the
// certificate that has issued the server's; without it, the system's authorities are trusted.
//
//     swift run ChatClient localhost 7000 Ada server.pem

import ChatConnection
import Foundation
import PortolanRunLoop
import PortolanStreams

@main
@MainActor struct ChatClient {
    private static var splitter = LineSplitter()

    static func main() {
        let arguments = CommandLine.arguments
        guard 4...5 ~= arguments.count, let port = Int(arguments[2]) else { fail("usage: ChatClient HOST PORT NAME [AUTHORITY]") }
        var configuration = SocketConfiguration.tls
        if arguments.count == 5 { configuration.tls.trustRoots = .only([.file(path: arguments[4])]) }
        let queue = DeliveryQueue(.main)
        do throws(LoadError) {
            let connection = try ChatConnection(
                SocketStreams(toHost: arguments[1], port: port, configuration: configuration), on: queue,
                onLine: {
                    print($0)
                    fflush(nil)
                },
                onEnd: { error in
                    if let error { fail(error.message) }
                    exit(0)
                })
            connection.send(arguments[3])
            let input = ByteInputStream(descriptor: 0)
            try input.schedule(on: queue) { input, event in
                MainActor.assumeIsolated {
                    switch event {
                    case .openCompleted, .spaceAvailable: break
                    case .bytesAvailable: if let bytes = try? input.read(atMost: 4096) { splitter.append(bytes).forEach(connection.send) }
                    case .endEncountered, .errorOccurred: connection.finish()
                    }
                }
            }
            input.open()
            withExtendedLifetime(input) { RunLoop.main.run() }
        } catch {
            fail(error.message)
        }
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
        exit(1)
    }
}
