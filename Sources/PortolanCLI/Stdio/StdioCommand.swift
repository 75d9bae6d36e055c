// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan

/// `portolan stdio`
struct StdioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stdio", abstract: "Serve requests from standard input, one JSON value per line, for programs in other languages.",
        discussion: """
            Each line is a request, and gets one response line; the order may differ. Ends when the input ends and all responses are written.
              {"id":1,"url":"data:,Hello"}
              {"id":2,"op":"capabilities"}
              {"id":3,"op":"parseMimeType","value":"Text/HTML; charset=utf-8"}
              {"id":4,"op":"parseURL","value":"../b","base":"https://example.org/a/"}
              {"id":5,"op":"reset","what":["connections"]}
            """)

    @OptionGroup var http: HTTPOptions
    @OptionGroup var loader: LoaderOptions

    func run() throws {
        let server = StdioServer(proxyPasswords: { http.proxyPasswords })
        try SignalHandler.observe { server.interrupt($0) }
        var configuration = try http.configuration()
        // One connection per possible load, so that no load waits for another.
        configuration.connectionLimits.perHost = StdioServer.loadLimit
        let handler = HTTPHandler(configuration: configuration)
        let setup = try loader.setUp(http: handler)
        let served = Result { try server.serve(.standardInput, loaders: StdioLoaders(setup, http: handler)) }
        // Not after a signal, because an interrupted recording is a fragment.
        if !server.isInterrupted { try setup.replay?.write() }
        try served.get()
    }
}
