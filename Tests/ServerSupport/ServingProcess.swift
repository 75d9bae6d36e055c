// SPDX-License-Identifier: Apache-2.0

import CServerSupport
import Glibc

/// A child process that runs `Tests/Servers/serve`. The child exits when its standard input ends. Only the test process
/// has the writing end of that pipe, so the child also exits when the test process crashes.
final class ServingProcess: Sendable {
    private let input: FileDescriptor
    private let output: FileDescriptor
    private let identifier: pid_t

    init(_ program: String, _ arguments: [String]) throws {
        let (childInput, input) = try SystemCalls.pipe()
        let (output, childOutput) = try SystemCalls.pipe()
        identifier = try Self.spawn([program] + arguments, input: childInput, output: childOutput)
        self.input = input
        self.output = output
    }

    deinit {
        input.close()
        SystemCalls.waitForEnd(of: identifier)
    }

    /// Waits for the first line of output.
    func firstLine() throws -> [UInt8] {
        var line: [UInt8] = []
        while line.last != UInt8(ascii: "\n") {
            guard let bytes = try SystemCalls.read(output), !bytes.isEmpty else {
                throw ServerError(
                    "Tests/Servers/serve ended before its servers were ready; see its standard error, and run scripts/packages.sh test")
            }
            line += bytes
        }
        return line
    }

    private static func spawn(_ command: [String], input: FileDescriptor, output: FileDescriptor) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input.number, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output.number, 1)
        // Closes sockets that other code has opened without O_CLOEXEC. If such a socket stayed open in the child, its
        // peer would not detect a close.
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)

        // The threads of Swift's thread pool block all signals. The child would inherit that mask.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        unsafe sigemptyset(&noSignals)
        unsafe posix_spawnattr_setsigmask(&attributes, &noSignals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe command.map { unsafe strdup($0) } + [nil]
        defer { for index in unsafe arguments.indices { unsafe free(arguments[index]) } }
        var child: pid_t = 0
        let result = unsafe posix_spawn(&child, command[0], &actions, &attributes, &arguments, environ)
        guard result == 0 else { throw ServerError(call: "starting \(command[0])", errno: result) }
        return child
    }
}

extension SystemCalls {
    static func waitForEnd(of child: pid_t) {
        while waitpid(child, nil, 0) < 0, errno == EINTR {}
    }
}
