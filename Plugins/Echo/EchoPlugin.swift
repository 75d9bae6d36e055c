// SPDX-License-Identifier: Apache-2.0

public import PortolanPluginKit

/// One started instance. It stores its settings and serves URLs.
struct EchoPlugin: PluginHandler {
    static let description = PluginDescription(
        identifier: "org.portolan.echo", name: "Echo", vendor: "The Portolan authors", version: "1.0.0", schemes: ["echo"],
        isCacheable: true)

    private let maximumEcho: Int
    private static let largestMaximum = 1 << 30

    init(host: PluginHost) throws {
        maximumEcho = try host.setting("maximumEcho") ?? 1 << 20
        guard (0...Self.largestMaximum).contains(maximumEcho) else {
            throw PluginError(.badRequest, message: "the setting 'maximumEcho' must be an integer from 0 to \(Self.largestMaximum)")
        }
    }

    /// Serves `echo:COMMAND?name=value&…`. The form with an authority, `echo://HOST/COMMAND`, has the same meaning.
    func load(_ request: PluginRequest, client: PluginClient) async throws {
        let path = request.host != nil && request.path.hasPrefix("/") ? request.path.dropFirst() : request.path[...]
        let name = String(path)
        var parameters = try Parameters(parsing: request.query, of: "echo:" + (Command.names.contains(name) ? name : ""))
        let command = try Command(name, &parameters, query: request.query)
        let isRedirect =
            switch command {
            case .redirect, .detour, .loop: true
            default: false
            }
        let options = try ResponseOptions(&parameters, request: request, isRedirect: isRedirect)
        try parameters.end()
        try await EchoLoad(command, options, for: request, client: client, maximumEcho: maximumEcho).serve()
    }
}

/// The only symbol that the library exports.
@_cdecl("portolan_plugin_entry") public func portolanPluginEntry(_ major: UInt32) -> PluginEntry? { EchoPlugin.entry(major) }
