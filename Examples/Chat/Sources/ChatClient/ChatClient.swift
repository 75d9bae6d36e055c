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
    /// The exit status, when the connection has ended.
    private static var status: Int32?

    static func main() {
        let arguments = CommandLine.arguments
        guard 4...5 ~= arguments.count, let port = Int(arguments[2]) else {
            printError("usage: ChatClient HOST PORT NAME [AUTHORITY]")
            exit(64)
        }
        do throws(LoadError) {
            try talk(to: arguments[1], port: port, as: arguments[3], authority: arguments.dropFirst(4).first)
        } catch {
            end(error)
        }
        exit(status ?? 1)
    }

    private static func talk(to host: String, port: Int, as name: String, authority: String?) throws(LoadError) {
        var configuration = SocketConfiguration.tls
        if let authority { configuration.tls.trustRoots = .only([.file(path: authority)]) }
        let queue = DeliveryQueue(.main)
        let socket = SocketStreams(toHost: host, port: port, configuration: configuration)
        let connection = try ChatConnection(socket, on: queue, onLine: printLine, onEnd: end)
        connection.send(name)
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
        while status == nil { _ = RunLoop.main.run(mode: .default, before: .distantFuture) }
        input.close()
    }

    private static func printLine(_ line: String) {
        print(line)
        fflush(nil)
    }

    private static func end(_ error: LoadError?) {
        if let error { printError(error.message) }
        status = error == nil ? 0 : 1
    }

    private static func printError(_ message: String) { FileHandle.standardError.write(Data("\(message)\n".utf8)) }
}
