// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanConformance
import PortolanPlugins

/// `--have NAME=HOST:PORT`: a server that runs already.
struct RunningServer: ExpressibleByArgument {
    /// The address is the authority of a URL: a host and a port, without user information.
    let name, address: String

    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "=") else { return nil }
        (name, address) = (String(argument[..<equals]), String(argument[argument.index(after: equals)...]))
        guard let colon = address.lastIndex(of: ":"), !name.isEmpty else { return nil }
        let port = address[address.index(after: colon)...]
        guard port.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = UInt16(port), number > 0,
            case let host = address[..<colon], !host.isEmpty, !host.utf8.contains(where: { $0 <= 0x20 || "/?#@\\{}".utf8.contains($0) }),
            let url = try? URLRecord(parsing: "http://\(address)/"), url.host != nil
        else { return nil }
    }
}

/// The servers that the loads of a plugin need.
struct CheckServers {
    private(set) var processes: [ServiceProcess] = []
    private(set) var target: ConformanceTarget

    /// Starts the servers that the manifest describes and that a load needs, except those that run already.
    ///
    /// A server that does not start is no failure of the plugin. The checks that need it are skipped.
    ///
    /// - Throws: If no load needs a server that runs already, because its name can be misspelt, and if two have one
    /// name.
    init(for target: ConformanceTarget, running: [RunningServer], in folder: RunFolder) throws(Failure) {
        var addresses = Dictionary(running.map { ($0.name, $0.address) }) { first, _ in first }
        var missing: [String: String] = [:]
        let needs = Set(target.loads.flatMap(\.needs)).sorted()
        if let unknown = running.first(where: { !needs.contains($0.name) }) {
            let names = needs.isEmpty ? "no URL needs a server" : "the URLs need \(needs.map { "'\($0)'" }.joined(separator: ", "))"
            throw Failure(.usage, "--have: no URL needs '\(unknown.name)'; \(names)")
        }
        if let twice = running.first(where: { server in running.count { $0.name == server.name } > 1 }) {
            throw Failure(.usage, "--have: '\(twice.name)' has two addresses; leave out one")
        }
        for need in needs where addresses[need] == nil {
            guard let service = target.services[need] else { continue }
            do throws(ServiceProcess.Problem) {
                let process = try ServiceProcess(need, service, in: target.servicesFolder, folder)
                processes.append(process)
                addresses[need] = process.address
            } catch {
                missing[need] = error.phrase
            }
        }
        self.target = target.withServers(at: addresses, missing: missing)
    }

    /// Ends the servers that were started.
    func end() {
        for process in processes { process.requestEnd() }
        for process in processes { process.end() }
    }

    /// What the servers printed last, and how they have ended during the checks, for a report of failures.
    var outputLines: [String] {
        processes.flatMap { process in
            let lines = process.lastLines.map { "  \($0)" }
            return (lines.isEmpty ? [] : ["the server '\(process.name)' printed last:"] + lines)
                + (process.problem().map { ["the server '\(process.name)' did not run until the end of the checks: \($0)"] } ?? [])
        }
    }
}
