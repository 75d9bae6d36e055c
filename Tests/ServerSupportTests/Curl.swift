// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport

/// Runs `curl` with the test authority as its trust root and without the environment's proxies.
enum Curl {
    struct Outcome {
        let status: Int32
        let output: String
    }

    static func run(_ arguments: String...) throws -> Outcome { try run(arguments) }

    static func run(_ arguments: [String]) throws -> Outcome {
        let pipe = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let authority = try TestServers.shared.path(of: .authority)
        process.arguments = ["curl", "-sS", "--noproxy", "*", "--max-time", "30", "--cacert", authority] + arguments
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Outcome(status: process.terminationStatus, output: String(decoding: output, as: UTF8.self))
    }
}
