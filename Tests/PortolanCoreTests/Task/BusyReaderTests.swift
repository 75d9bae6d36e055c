// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// A reader that never waits, because all bytes are buffered, can be cancelled and lets other tasks run.
@Suite(.timeLimit(.minutes(2))) struct BusyReaderTests {
    /// A loader whose loads end before the first piece is read, so that the whole body is buffered.
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
                do throws(LoadError) { _ = try await iterator.next() } catch let secondError {
                    return (count, error.code, secondError.code)
                }
                return (count, error.code, nil)
            }
            return (count, nil, nil)
        }
        let (count, errorCode, secondErrorCode) = try await reader.value
        #expect(count == 3)
        #expect(errorCode == .cancelled)
        #expect(secondErrorCode == .cancelled)
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

    /// If all tasks share one executor, a writer that never waits must yield, so that other tasks run.
    @Test func busyWriterYieldsToOtherJobsOfItsExecutor() async throws {
        let executor = SingleThreadExecutor()
        let pipe = BodyWriter(capacity: 1 << 20)
        let writer = Task(executorPreference: executor) { () -> Bool in
            let hasOtherTaskRun = ConditionLock(false)
            Task(executorPreference: executor) { hasOtherTaskRun.withLock { $0 = true } }
            for _ in 0..<1000 { try await pipe.write([1, 2, 3]) }
            return hasOtherTaskRun.withLock { $0 }
        }
        #expect(try await writer.value)
    }

    /// An executor that runs its jobs one after another on its own thread.
    private final class SingleThreadExecutor: TaskExecutor {
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

    /// An actor that reads a body. Its jobs run one at a time.
    private actor ReadingActor {
        private var hasOtherJobRun = false

        /// - Returns: the number of pieces that were read; 0 if no other job of the actor ran in the meantime.
        func read(_ loader: Loader) async throws -> Int {
            let (chunks, _) = try await loader.bytes(from: "x:1")
            var count = 0
            for try await _ in chunks {
                if count == 0 { Task { hasOtherJobRun = true } }
                count += 1
            }
            return hasOtherJobRun ? count : 0
        }
    }
}

private func cancelCurrentTask() {
    unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
}
