// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanConformance

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Opens a plugin in a process of its own, so that code that ends or stops the process it runs in does so there.
enum OpeningProcess {
    /// How long it may take.
    private static let timeLimit = Duration.seconds(20)

    /// - Returns: what is wrong with the plugin; `isEnd`: it has ended that process, or did not come back.
    static func problems(of plugin: InstalledPlugin) throws(Failure) -> (list: [String], isEnd: Bool) {
        var runner = ConformanceRunner(ConformanceTarget(plugin))
        runner.timeLimit = timeLimit
        let opening: ConformanceRunner.Opening
        do {
            opening = try runner.opening {
                do throws(LoadError) {
                    _ = try plugin.open()
                    return []
                } catch {
                    return [error.words]
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

/// A process that opens a plugin as often as it is asked to, for one that has several threads and can't be copied any more (`fork(2)`).
final class OpeningHelper {
    private let (requests, answers): (Int32, Int32)
    /// No answer is longer.
    private static let largestCount = 4096

    /// Made before this process has other threads.
    ///
    /// - Parameter problem: why opening a plugin does not return; `nil` where it does.
    init(_ problem: () -> String?) throws(Failure) {
        var (request, answer): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard unsafe pipe(&request) == 0, unsafe pipe(&answer) == 0 else { throw Failure(.noResources, "no pipe can be made") }
        for end in request + answer { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let child = fork()
        if child == 0 {
            for end in [request[1], answer[0]] { close(end) }
            Self.serve(request[0], answer[1], problem)
        }
        for end in [request[0], answer[1]] { close(end) }
        guard child > 0 else { throw Failure(.noResources, "no process can be made") }
        (requests, answers) = (request[1], answer[0])
    }

    deinit {
        close(requests)
        close(answers)
    }

    /// Ends when the other process does.
    private static func serve(_ requests: Int32, _ answers: Int32, _ problem: () -> String?) -> Never {
        var byte: UInt8 = 0
        while unsafe read(requests, &byte, 1) == 1 {
            var bytes = Array((problem() ?? "").utf8.prefix(largestCount - 1)) + [0]
            bytes += [UInt8](repeating: 0, count: largestCount - bytes.count)
            guard unsafe write(answers, bytes, bytes.count) == bytes.count else { break }
        }
        _exit(0)
    }

    /// Why opening the plugin does not return; `nil` where it does. A plugin that ends the other process is not opened here either.
    var problem: String? {
        let gone = "opening the library ended the process that watches over it; mend that, and start 'plugins watch' again"
        var byte: UInt8 = 1
        guard unsafe write(requests, &byte, 1) == 1 else { return gone }
        var answer: [UInt8] = []
        while answer.count < Self.largestCount {
            var bytes = [UInt8](repeating: 0, count: Self.largestCount - answer.count)
            let count = unsafe read(answers, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return gone }
            answer += bytes[..<count]
        }
        let text = String(decoding: answer.prefix { $0 != 0 }, as: UTF8.self)
        return text.isEmpty ? nil : text
    }
}
