// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import PortolanPlugins
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// LEAK, UNLOAD and SEC: what loads leave behind, and what they open to others.
extension ConformanceCheck {
    static let leaks: [ConformanceCheck] = [
        ConformanceCheck("SEC-05") { trial throws(Unjudged) in
            let file = try LibraryFile(at: trial.libraryPath())
            if file.hasExecutableStack { trial.fail("the library asks for an executable stack; link with -z noexecstack") }
            if file.hasWritableCode { trial.fail("a segment of the library can be both written and executed") }
        },
        ConformanceCheck("SEC-06") { trial throws(Unjudged) in
            let before = Set(ProcessCensus.descriptors().keys)
            try trial.eachLoad(.succeeds) { load, request, instance throws(Unjudged) in
                let found = Mutex<[String]>([])
                var script = Trial.script(for: load)
                script.whileDelivering = { index, _ in
                    guard index < 3 else { return }
                    func inherited() -> [Int32: String] {
                        ProcessCensus.descriptors().filter { !before.contains($0.key) && fcntl($0.key, F_GETFD) & FD_CLOEXEC == 0 }
                    }
                    var left = inherited()
                    guard !left.isEmpty else { return }
                    // One that another thread is opening just now may be made so in its next step (`fcntl(2)`).
                    Patience.watch(.milliseconds(10))
                    let later = inherited()
                    left = left.filter { later[$0.key] == $0.value }
                    found.withLock { $0 += left.sorted { $0.key < $1.key }.map(\.value) }
                }
                _ = try trial.perform(request, of: instance, script)
                for target in Set(found.withLock(\.self)) {
                    trial.fail("'\(load.url)': a program that the host starts would inherit a descriptor (\(target.prefix { $0 != "[" }))")
                }
            }
        },
        left("LEAK-02") { $0.hasPrefix("descriptor") },
        left("LEAK-03") { $0.contains("thread") },
        ConformanceCheck("LEAK-04") { trial throws(Unjudged) in
            let before = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) }
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-check-\(getpid())").path
            do {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            } catch {
                throw Unjudged("no temporary folder could be made: \(error)")
            }
            unsafe setenv("TMPDIR", folder, 1)
            defer {
                if let before { unsafe setenv("TMPDIR", before, 1) } else { unsafe unsetenv("TMPDIR") }
                // `try?` because what is left there is told already.
                try? FileManager.default.removeItem(atPath: folder)
            }
            let instance = try trial.instance()
            try trial.followAll(trial.loads(.any), of: instance)
            instance.end()
            // `try?` because a folder that is gone has nothing in it.
            let left = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            trial.fail(left.sorted().map { "its loads left '\($0)' in the temporary folder" })
        },
        ConformanceCheck("UNLOAD-03") { trial throws(Unjudged) in
            let instance = try trial.instance()
            // `try?` because a manifest without a URL that hangs has others.
            let waiting = (try? trial.loads(.hangs)) ?? []
            let loads = try waiting + trial.loads(.succeeds)
            let made = try (0..<32).map { index throws(Unjudged) in
                let load = loads[index % loads.count]
                return try trial.make(trial.request(load.url), of: instance, Trial.script(for: load))
            }
            for one in made { try one.start() }
            let start = MonotonicTime.now
            for one in made { one.stop() }
            for one in made {
                guard one.waitUntilIdle(.seconds(1)) else {
                    return trial.fail("one of 32 loads went on for a second when all of them were stopped")
                }
                one.destroy()
            }
            instance.end()
            let time = MonotonicTime.now - start
            if time > .seconds(1) { trial.fail("32 loads were stopped and the plugin was ended in \(Words.time(time))") }
        },
        ConformanceCheck("UNLOAD-01") { trial throws(Unjudged) in
            let loads = try trial.loads(.any)
            func round() throws(Unjudged) {
                let instance = try trial.instance()
                try trial.followAll(loads, of: instance)
                instance.end()
            }
            let left = try ProcessCensus.leftBehind(within: .seconds(2), round).filter { $0.contains("thread") }
            trial.fail(left.map { "when deinit had returned, \($0)" })
        },
    ]

    /// Many loads, and what is there afterwards that was not before.
    private static func left(_ id: String, _ isMeant: @escaping @Sendable (String) -> Bool) -> ConformanceCheck {
        ConformanceCheck(id) { trial throws(Unjudged) in
            let instance = try trial.instance()
            let loads = try trial.loads(.any)
            let left = try ProcessCensus.leftBehind(within: .seconds(2)) { () throws(Unjudged) in
                for _ in 0..<5 { try trial.followAll(loads, of: instance) }
            }.filter(isMeant)
            trial.fail(left.map { "after five rounds of its loads, \($0)" })
            instance.end()
        }
    }
}
