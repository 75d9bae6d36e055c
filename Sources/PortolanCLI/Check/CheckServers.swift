// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import PortolanConformance
import PortolanPlugins

/// `--have NAME=HOST:PORT`: a server that runs already.
struct RunningServer: ExpressibleByArgument {
    let name, address: String

    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "="), let colon = argument.lastIndex(of: ":"), equals < colon,
            UInt16(argument[argument.index(after: colon)...]) != nil
        else { return nil }
        (name, address) = (String(argument[..<equals]), String(argument[argument.index(after: equals)...]))
        guard !name.isEmpty, address.first != ":" else { return nil }
    }
}

/// The servers that the loads of a plugin need.
struct CheckServers {
    private(set) var processes: [ServiceProcess] = []
    private(set) var target: ConformanceTarget

    /// Starts the servers that the manifest describes and that a load needs, except those that run already.
    ///
    /// A server that does not start is no failure of the plugin. The checks that need it are skipped.
    init(for target: ConformanceTarget, running: [RunningServer], in folder: RunFolder) {
        var addresses = Dictionary(running.map { ($0.name, $0.address) }) { first, _ in first }
        var missing: [String: String] = [:]
        let services = target.manifest?.manifest.conformance?.services ?? [:]
        let needs = Set(target.loads.flatMap(\.needs)).sorted()
        let workingFolder = target.manifest?.folder ?? "."
        for need in needs where addresses[need] == nil {
            guard let service = services[need] else { continue }
            do throws(ServiceProcess.Problem) {
                let process = try ServiceProcess(need, service, in: workingFolder, folder)
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
        for process in processes { process.end() }
    }

    /// What the servers printed last, for a report of failures.
    var outputLines: [String] {
        processes.flatMap { process in
            process.lastLines.isEmpty ? [] : ["the server '\(process.name)' printed last:"] + process.lastLines.map { "  \($0)" }
        }
    }
}
