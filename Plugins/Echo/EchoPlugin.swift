// SPDX-License-Identifier: Apache-2.0

public import CPortolan

/// One started instance: holds its settings, and makes loads of URLs.
final class EchoPlugin: BlockingPlugin {
    private let maximumEcho: Int64
    private static let largestMaximum: Int64 = 1 << 30

    init(_ settings: [Property]) throws(Failure) {
        guard let setting = settings.first(where: { $0.name == "maximumEcho" }) else {
            maximumEcho = 1 << 20
            return
        }
        guard case .integer(let maximum) = setting.value, (0...Self.largestMaximum).contains(maximum) else {
            throw Failure(.badRequest, "the setting 'maximumEcho' is to be an integer from 0 to \(Self.largestMaximum)")
        }
        maximumEcho = maximum
    }

    /// Reads the URL, `echo:COMMAND?name=value&…`. Behind an authority, `echo://HOST/COMMAND`, the command is the same.
    func makeLoad(for request: Request, client: Client) throws(Failure) -> any BlockingLoad {
        let path = request.host != nil && request.path.hasPrefix("/") ? request.path.dropFirst() : request.path[...]
        let name = String(path)
        var parameters = try Parameters(parsing: request.query, of: "echo:" + (Command.names.contains(name) ? name : ""))
        let command = try Command(name, &parameters, query: request.query)
        let redirects =
            switch command {
            case .redirect, .detour, .loop: true
            default: false
            }
        let options = try AnswerOptions(&parameters, properties: request.properties, redirects: redirects)
        try parameters.end()
        return EchoLoad(command, options, for: request, client: client, maximumEcho: maximumEcho)
    }

    fileprivate static let descriptor = unsafe PluginDescriptor(
        identifier: "org.portolan.echo", name: "Echo", vendor: "The Portolan authors", version: "1.0.0", scheme: "echo",
        start: { host, refusal in
            unsafe PluginFunctions.start(host, refusal) { settings throws(Failure) in try EchoPlugin(settings) }
        })
}

/// The one symbol that the library exports: the same answer each time, and none to a host of another major version.
@_cdecl("portolan_plugin_entry")
public func portolanPluginEntry(_ major: UInt32) -> UnsafePointer<portolan_plugin>? {
    major == PORTOLAN_ABI_MAJOR ? unsafe EchoPlugin.descriptor.pointer : nil
}
