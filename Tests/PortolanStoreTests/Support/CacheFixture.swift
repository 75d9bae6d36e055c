// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CacheStoreSuite
    import Foundation
    import PortolanCache
    import PortolanCore
    import PortolanTestSupport
    import Testing

    @testable import PortolanStore

    /// A cache in a temporary folder, and the log of its stores.
    struct CacheFixture {
        let temporary: TemporaryFolder
        let log = RecordedLog()

        init() throws { temporary = try TemporaryFolder() }

        var path: String { temporary.path(of: "cache") }
        var folder: CacheFolder { CacheFolder(StateFiles(folder: path)) }

        /// - Parameter clock: by default, one that stands still, so that a slow machine causes no miss.
        func open(
            byteLimit: Int64? = nil, repairsIndex: Bool = true, at path: String? = nil, clock: any LoadClock = ManualClock()
        ) throws(StoreError) -> DiskCacheStore {
            try DiskCacheStore.waitForOpen(
                path ?? self.path, byteLimit: byteLimit, repairsIndex: repairsIndex, logger: log.logger, clock: clock)
        }

        /// The error of opening the folder; `nil` if the folder can be opened.
        func openingError() -> StoreError? {
            do throws(StoreError) {
                try open().waitForClose()
                return nil
            } catch {
                return error
            }
        }

        /// Opens the cache, stores bodies, and closes it.
        func fill(_ bodies: [String: [UInt8]], _ fields: String = "") throws {
            let store = try open()
            for (url, octets) in bodies { try CacheStoreHarness(store).storeBody(octets, fields, at: url) }
            store.waitForClose()
        }

        /// The files of bodies.
        var bodyFiles: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: path + "/bodies").sorted().map { "bodies/" + $0 } }
        }

        /// The size of all bodies' files.
        var bodyFileSize: Int64 {
            get throws { try bodyFiles.reduce(0) { $0 + (try StateFiles(folder: path).size(of: $1) ?? 0) } }
        }

        func bytes(of name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path + "/" + name))) }
        func replace(_ name: String, by bytes: some Sequence<UInt8>) throws { try temporary.write(bytes, to: "cache/" + name) }

        /// Executes statements in the index of a closed cache.
        func execute(_ sql: String) throws {
            let database = try Database(path: folder.indexPath, options: Database.Options())
            try database.transaction(isWrite: true) { try $0.executeAll(sql) }
            try database.close()
        }

        func number(_ sql: String) throws -> Int64 {
            let database = try Database(path: folder.indexPath, options: Database.Options())
            let number = try database.transaction(isWrite: false) { try $0.number(sql) }
            try database.close()
            return number
        }
    }

    /// A process of the program CacheFiller.
    final class FillerProcess {
        private let process = Process()
        private let output: FileHandle
        private(set) var text = ""

        init(_ folder: String, limit: Int64, seed: Int, loads: Int = .max, launcher: [String] = []) throws {
            let pipe = Pipe()
            let program = (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0]))
                .deletingLastPathComponent().appendingPathComponent("CacheFiller").path
            let command = launcher + [program, folder, String(limit), String(seed), String(loads)]
            process.executableURL = URL(fileURLWithPath: command[0])
            process.arguments = Array(command.dropFirst())
            process.standardOutput = pipe
            output = pipe.fileHandleForReading
            try process.run()
        }

        deinit { kill() }

        /// Waits until the process has ended this number of loads.
        func waitForLoads(_ count: Int) throws {
            while text.utf8.count(where: { $0 == UInt8(ascii: "\n") }) < count {
                let data = output.availableData
                try #require(!data.isEmpty, "the process ended: \(text.suffix(300))")
                text += String(decoding: data, as: UTF8.self)
            }
        }

        func kill() {
            guard process.isRunning else { return }
            Glibc.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            text += String(decoding: output.readDataToEndOfFile(), as: UTF8.self)
        }

        /// Waits for the end of the process.
        ///
        /// - Returns: its exit status, and its last line.
        func waitForEnd() -> (status: Int32, line: String) {
            text += String(decoding: output.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return (process.terminationStatus, String(text.split(separator: "\n").last ?? ""))
        }
    }
#endif
