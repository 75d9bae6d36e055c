// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanFileSystem

/// `portolan stdio`
struct StdioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stdio",
        abstract: "Serve requests of programs in other languages: JSON on standard input and output, one value per line.",
        discussion: """
            Each line is a request, and gets one response line. The order of the responses can differ. The command ends when the input has ended and
            all responses are written.
              {"id":1,"url":"data:,Hello"}
              {"id":2,"op":"capabilities"}
              {"id":3,"op":"parseMimeType","value":"Text/HTML; charset=utf-8"}
              {"id":4,"op":"parseURL","value":"../b","base":"https://example.org/a/"}
              {"id":5,"op":"reset","what":["connections"]}
            """)

    @OptionGroup var http: HTTPOptions
    @OptionGroup var stateFolder: StateFolderOption
    @OptionGroup var cacheFolder: CacheFolderOption
    @OptionGroup var loader: LoaderOptions
    @OptionGroup var replay: ReplayOptions

    func run() throws {
        let state = try stateFolder.open()
        let cache = try cacheFolder.open()
        let server = StdioServer(proxyCredentials: { http.proxyCredentials }, state: state, cache: cache)
        try SignalHandler.observe { server.interrupt($0) }
        var configuration = try http.configuration()
        // One connection for each load that can run, so that no load waits for a connection.
        configuration.connectionLimits.perHost = StdioServer.loadLimit
        let handler = HTTPHandler(configuration: configuration)
        let setup = try loader.setUp(replay: replay, http: handler)
        let loaders = StdioLoaders(setup, http: handler, state: state, cache: cache?.cache)
        let result = Result { try server.serve(.standardInput, loaders: loaders) }
        cache?.close()
        try state?.close()
        // After a signal the recording is incomplete, and must not replace a complete file.
        if !server.isInterrupted { try setup.replay?.write() }
        try result.get()
    }
}
