// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanConformance
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Opens a plugin in a separate process, because the code of the plugin can end the process or hang.
enum OpeningProcess {
    /// The time limit for opening a plugin.
    private static let timeLimit = Duration.seconds(20)

    /// - Returns: The problems of the plugin. `didNotReturn` is whether the plugin ended the process or hung.
    static func problems(of plugin: InstalledPlugin) throws(Failure) -> (list: [String], didNotReturn: Bool) {
        var runner = ConformanceRunner(ConformanceTarget(plugin))
        runner.timeLimit = timeLimit
        let opening: ConformanceRunner.Opening
        do {
            opening = try runner.opening {
                do throws(LoadError) {
                    _ = try plugin.open()
                    return []
                } catch {
                    return [error.phrase]
                }
            }
        } catch {
            throw Failure(.noResources, "\(error)")
        }
        return switch opening {
        case .returned(let problems): (problems, false)
        case .ended(let how): (["\(plugin.libraryPath): \(how)"], true)
        }
    }
}

/// A helper process that opens a plugin each time the command requests this. The command cannot start a process for
/// each attempt, because it has several threads and must not call `fork(2)` any more.
final class OpeningHelper {
    /// The write end of the request pipe, and the read end of the response pipe.
    private let (requests, responses): (Int32, Int32)
    /// The size of each response in bytes.
    private static let responseSize = 4096

    /// Starts the process. Call this initialiser before this process has other threads.
    ///
    /// - Parameter problem: opens the plugin, in the new process. Returns why opening did not return, or `nil` if
    ///   opening returned.
    init(_ problem: () -> String?) throws(Failure) {
        var (request, response): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard unsafe pipe(&request) == 0, unsafe pipe(&response) == 0 else { throw Failure(.noResources, "no pipe can be created") }
        for end in request + response { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let child = fork()
        if child == 0 {
            for end in [request[1], response[0]] { close(end) }
            Self.serve(request[0], response[1], problem)
        }
        for end in [request[0], response[1]] { close(end) }
        guard child > 0 else { throw Failure(.noResources, "no process can be created") }
        (requests, responses) = (request[1], response[0])
    }

    deinit {
        close(requests)
        close(responses)
    }

    /// Serves requests until the command ends.
    private static func serve(_ requests: Int32, _ responses: Int32, _ problem: () -> String?) -> Never {
        var byte: UInt8 = 0
        while unsafe read(requests, &byte, 1) == 1 {
            var bytes = Array((problem() ?? "").utf8.prefix(responseSize - 1)) + [0]
            bytes += [UInt8](repeating: 0, count: responseSize - bytes.count)
            guard unsafe write(responses, bytes, bytes.count) == bytes.count else { break }
        }
        _exit(0)
    }

    /// Opens the plugin in the helper process, and returns why opening did not return; `nil` if opening returned. If
    /// there is a problem, this process must not open the plugin.
    var problem: String? {
        let processEnded = "opening the library ended the process that supervises it; correct the library, and start 'plugins watch' again"
        var byte: UInt8 = 1
        guard unsafe write(requests, &byte, 1) == 1 else { return processEnded }
        var response: [UInt8] = []
        while response.count < Self.responseSize {
            var bytes = [UInt8](repeating: 0, count: Self.responseSize - response.count)
            let count = unsafe read(responses, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return processEnded }
            response += bytes[..<count]
        }
        let text = String(decoding: response.prefix { $0 != 0 }, as: UTF8.self)
        return text.isEmpty ? nil : text
    }
}
