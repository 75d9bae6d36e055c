// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// A reader that never has to wait for bytes can still be cancelled, and lets other tasks run.
@Suite(.timeLimit(.minutes(2))) struct BusyReaderTests {
    /// The loads end before the first piece is read, so that the whole body is buffered.
    private let loader = PortolanTestSupport.loader(
        StubHandler { _ in .pieces((0..<1000).map { [UInt8](repeating: UInt8($0 % 256), count: 20_000) }) }
    ) { $0.bufferSize = 1 << 30 }

    @Test func cancelledReaderGetsNoBufferedPieces() async throws {
        let loader = loader
        let reader = Task { () -> (Int, LoadError.Code?, LoadError.Code?) in
            let (chunks, _) = try await loader.bytes(from: "x:1")
            var iterator = chunks.makeAsyncIterator()
            var count = 0
            do throws(LoadError) {
                while try await iterator.next() != nil {
                    count += 1
                    if count == 3 { cancelCurrentTask() }
                }
            } catch {
                do throws(LoadError) { _ = try await iterator.next() } catch let again { return (count, error.code, again.code) }
                return (count, error.code, nil)
            }
            return (count, nil, nil)
        }
        let (count, error, again) = try await reader.value
        #expect(count == 3)
        #expect(error == .cancelled)
        #expect(again == .cancelled)
    }

    @Test func cancellingAReaderWithBufferedPiecesStopsTheLoad() async throws {
        let handler = ManualHandler()
        let loader = PortolanTestSupport.loader(handler)
        let reader = Task { () -> LoadError.Code? in
            let (chunks, _) = try await loader.bytes(from: "x:1")
            handler.loads.first?.deliver([1])
            handler.loads.first?.deliver([2])
            cancelCurrentTask()
            do throws(LoadError) { for try await _ in chunks {} } catch { return error.code }
            return nil
        }
        let load = await handler.nextLoad()
        load.respond()
        #expect(try await reader.value == .cancelled)
        #expect(load.calls == [.start, .stop])
    }

    @Test func cancelAfterTheEndDoesNotFailTheReader() async throws {
        let loader = loader
        let reader = Task { () -> Bool in
            let (chunks, _) = try await loader.bytes(from: "x:1")
            var iterator = chunks.makeAsyncIterator()
            while try await iterator.next() != nil {}
            cancelCurrentTask()
            return try await iterator.next() == nil
        }
        #expect(try await reader.value)
    }

    @Test func cancelledCallerStartsNoLoad() async throws {
        let handler = ManualHandler { load in
            load.respond()
            load.finish()
        }
        let loader = PortolanTestSupport.loader(handler)
        let caller = Task { () -> [LoadError.Code?] in
            cancelCurrentTask()
            var codes: [LoadError.Code?] = []
            do throws(LoadError) {
                _ = try await loader.data(from: "x:1")
                codes.append(nil)
            } catch {
                codes.append(error.code)
            }
            do throws(LoadError) {
                _ = try await loader.bytes(from: "x:1")
                codes.append(nil)
            } catch {
                codes.append(error.code)
            }
            return codes
        }
        #expect(await caller.value == [.cancelled, .cancelled])
        #expect(handler.loads.isEmpty)
    }

    @Test func busyReaderYieldsToOtherJobsOfItsActor() async throws {
        #expect(try await ReadingActor().read(loader) == 1000)
    }

    /// On an actor, each write is a separate step. If all tasks share one executor, the writer yields by itself.
    @Test func busyWriterYieldsToOtherJobsOfItsExecutor() async throws {
        let executor = OneThread()
        let pipe = BodyWriter(capacity: 1 << 20)
        let writer = Task(executorPreference: executor) { () -> Bool in
            let other = ConditionLock(false)
            Task(executorPreference: executor) { other.withLock { $0 = true } }
            for _ in 0..<1000 { try await pipe.write([1, 2, 3]) }
            return other.withLock { $0 }
        }
        #expect(try await writer.value)
    }

    /// Runs jobs one after another on its own thread.
    private final class OneThread: TaskExecutor {
        private let threads = LoadThreadPool(limit: 1)

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            do throws(LoadError) {
                try threads.run { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
            } catch {
                Issue.record("\(error)")
            }
        }
    }

    /// Does all its work on one executor.
    private actor ReadingActor {
        private var hasRun = false

        /// - Returns: the number of pieces that were read; 0 if no other job could run meanwhile.
        func read(_ loader: Loader) async throws -> Int {
            let (chunks, _) = try await loader.bytes(from: "x:1")
            var count = 0
            for try await _ in chunks {
                if count == 0 { Task { hasRun = true } }
                count += 1
            }
            return hasRun ? count : 0
        }
    }
}

private func cancelCurrentTask() {
    unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
}
