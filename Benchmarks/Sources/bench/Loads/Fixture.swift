// SPDX-License-Identifier: Apache-2.0

import Foundation
import Portolan
import PortolanPlugins
import Synchronization

/// The files, plugins and servers that the rows need. The files stay for the next run of the program.
final class Fixture: Sendable {
    /// The folder for files that the rows make once.
    let scratch: String
    /// The plugin libraries.
    let plugins: String
    /// The `portolan` program, whose start some rows measure.
    let portolan: String
    /// The program that starts the servers.
    private let servers: String
    /// By what the numbers of http: loads are divided.
    private let divisor: Int
    private let startedNginx = Mutex<NginxServer?>(nil)

    init(scratch: String, plugins: String, portolan: String, servers: String, divisor: Int) {
        (self.scratch, self.plugins, self.portolan, self.servers, self.divisor) = (scratch, plugins, portolan, servers, divisor)
    }

    /// Returns the number of loads in a run, given that of a measurement. At least 64, the number in flight.
    func loadCount(_ count: Int) -> Int { max(64, count / divisor) }

    /// Returns the server of the http: rows, which serves ``scratch``. The first call starts it.
    func nginx() throws -> NginxServer {
        try startedNginx.withLock { started in
            if let started { return started }
            try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
            let new = try NginxServer(program: servers, root: scratch)
            started = new
            return new
        }
    }

    /// Returns a loader that prefers the handlers of a plugin library to the shared ones.
    func loader(withPlugin library: String) throws -> Loader {
        let path = plugins + "/" + library
        guard FileManager.default.fileExists(atPath: path) else {
            throw MeasurementError("\(path) does not exist; run 'make bench' to build it, or name its folder with --plugins")
        }
        var configuration = Loader.Configuration()
        configuration.handlers = try Plugin(contentsOf: path).handlers
        return Loader(configuration: configuration)
    }

    /// Returns a loader with the handlers of a plugin, whose manifest is in a folder beside the plugin libraries.
    func loader(withManifestIn folder: String) throws -> Loader {
        let plugin = try PluginCatalogue(searching: PluginSearchPath([String]())).plugin(at: plugins + "/" + folder)
        var configuration = Loader.Configuration()
        configuration.handlers = try plugin.open(settings: []).handlers
        return Loader(configuration: configuration)
    }

    /// Returns the path of the file `name`. If the file does not exist, `make` writes it under a temporary name first.
    func file(_ name: String, make: (_ path: String) throws -> Void) throws -> String {
        let path = scratch + "/" + name
        if FileManager.default.fileExists(atPath: path) { return path }
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
        try make(path + ".part")
        try FileManager.default.moveItem(atPath: path + ".part", toPath: path)
        return path
    }

    /// Makes an empty folder.
    func emptyFolder(_ name: String) throws -> String {
        let path = scratch + "/" + name
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }
}

/// The reason why a row cannot be measured.
struct MeasurementError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
