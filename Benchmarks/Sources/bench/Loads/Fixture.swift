// SPDX-License-Identifier: Apache-2.0

import Foundation
import Portolan
import Synchronization

/// Where the rows find what they need, and keep what takes long to make.
final class Fixture: Sendable {
    /// Files that the rows make, once.
    let scratch: String
    /// The plugin libraries.
    let plugins: String
    /// The command line that is started for the rows that measure its start.
    let portolan: String
    /// What starts the servers.
    private let servers: String
    private let startedNginx = Mutex<NginxServer?>(nil)

    init(scratch: String, plugins: String, portolan: String, servers: String) {
        (self.scratch, self.plugins, self.portolan, self.servers) = (scratch, plugins, portolan, servers)
    }

    /// The server of the http: rows, started for the first of them; it serves ``scratch``.
    func nginx() throws -> NginxServer {
        try startedNginx.withLock { started in
            if let started { return started }
            try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
            let new = try NginxServer(program: servers, root: scratch)
            started = new
            return new
        }
    }

    /// A loader with the handlers of a plugin library in front of the shared ones.
    func loader(withPlugin library: String) throws -> Loader {
        let path = plugins + "/" + library
        guard FileManager.default.fileExists(atPath: path) else {
            throw Missing("\(path) is not there: `make bench` builds it; or name the folder that has it with --plugins")
        }
        var configuration = Loader.Configuration.default
        configuration.handlers = try Plugin(contentsOf: path).handlers
        return Loader(configuration: configuration)
    }

    /// A loader with the handlers of the plugin whose manifest lies in a folder beside the plugin libraries.
    func loader(withManifestIn folder: String) throws -> Loader {
        let plugin = try PluginCatalogue(searching: PluginSearchPath([String]())).plugin(at: plugins + "/" + folder)
        var configuration = Loader.Configuration.default
        configuration.handlers = try plugin.open(settings: []).handlers
        return Loader(configuration: configuration)
    }

    /// The file `name`, made by `make` if it is not there yet; a file that was not finished has another name.
    func file(_ name: String, make: (_ path: String) throws -> Void) throws -> String {
        let path = scratch + "/" + name
        if FileManager.default.fileExists(atPath: path) { return path }
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
        try make(path + ".part")
        try FileManager.default.moveItem(atPath: path + ".part", toPath: path)
        return path
    }

    /// An empty folder.
    func emptyFolder(_ name: String) throws -> String {
        let path = scratch + "/" + name
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }
}

/// What keeps a row from being measured.
struct Missing: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
