// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import Logging
    import PortolanCache
    import PortolanCore
    import Synchronization

    /// Reads the file of a body in blocks, on a thread that may block, and verifies each block before anything of it is
    /// delivered.
    ///
    /// When a block is ready, the thread calls `whenReady`. In that call, the caller usually reads the block and waits
    /// for the next one. So one thread reads, verifies and delivers one block after the other, while the block is in
    /// the processor's cache. All blocks use the same memory. The kernel reads ahead.
    final class FileBodyReader: CacheBodyReader {
        /// What the thread does.
        private enum Phase {
            /// There is no thread.
            case idle
            /// The thread reads the next block.
            case reading
            /// The thread calls `whenReady`. Then it reads the next block, if the caller waits for it.
            case calling
        }

        private struct State {
            var phase = Phase.idle
            var file: BodyFile?
            /// The octets of a block; empty while a block is read or delivered.
            var buffer: [UInt8] = []
            /// The range of the buffer that is not delivered yet.
            var rest = 0..<0
            /// The index of the next block to read.
            var nextBlock: Int
            /// Whether the first block has been read.
            var hasBegun = false
            var failure: LoadError?
            var isClosed = false
            var whenReady: (@Sendable () -> Void)?
        }

        private enum Step {
            case deliver([UInt8], Range<Int>)
            case end
            case failed(LoadError)
            case wait(mustRead: Bool)
        }

        private let id: Int64
        private let layout: BodyLayout
        /// The range of the stored octets to read.
        private let range: Range<Int64>
        private let lastBlock: Int
        private let core: DiskCacheCore
        private let state: Mutex<State>

        init(_ id: Int64, _ layout: BodyLayout, _ range: Range<Int64>, _ core: DiskCacheCore) {
            (self.id, self.layout, self.range, self.core) = (id, layout, range, core)
            lastBlock = BodyLayout.blockIndex(of: range.upperBound - 1)
            state = Mutex(State(nextBlock: BodyLayout.blockIndex(of: range.lowerBound)))
        }

        deinit { close() }

        /// Reads the first block. Call it once, before everything else.
        func start() {
            state.withLock { $0.phase = .reading }
            submit()
            let timer = ScheduledTimer { [weak self] in self?.timerDidFire() }
            core.clock.schedule(timer, at: core.clock.now + DiskCacheCore.lookupLimit)
        }

        /// Fails the reader if the disk is too slow. Its load then begins again without the entry.
        private func timerDidFire() {
            let whenReady: (@Sendable () -> Void)? = state.withLock { state in
                guard !state.hasBegun, !state.isClosed, state.failure == nil else { return nil }
                state.failure = LoadError(
                    .ioFailed, message: "the stored response was not read within \(DiskCacheCore.lookupLimit); load it from its source")
                return state.whenReady.take()
            }
            whenReady?()
        }

        func read(
            atMost limit: Int, _ receive: (borrowing RawSpan) -> Void, whenReady: @escaping @Sendable () -> Void
        ) -> BodyRead {
            let step = state.withLock { state -> Step in
                if !state.rest.isEmpty {
                    let slice = state.rest.prefix(limit)
                    state.rest = slice.endIndex..<state.rest.endIndex
                    return .deliver(exchange(&state.buffer, with: []), slice)
                }
                if let failure = state.failure { return .failed(failure) }
                if state.nextBlock > lastBlock { return .end }
                state.whenReady = whenReady
                guard state.phase == .idle else { return .wait(mustRead: false) }
                state.phase = .reading
                return .wait(mustRead: true)
            }
            switch step {
            case .deliver(let octets, let slice):
                unsafe receive(octets.span.extracting(slice).bytes)
                // No block is read before the next call of this function.
                state.withLock { if !$0.isClosed { $0.buffer = octets } }
                return .bytes
            case .end: return .end
            case .failed(let error): return .failed(error)
            case .wait(let mustRead):
                if mustRead { submit() }
                return .wait
            }
        }

        func close() {
            state.withLock { state in
                state.isClosed = true
                (state.buffer, state.rest) = ([], 0..<0)
                state.whenReady = nil
                closeFile(&state)
            }
        }

        /// Closes the file, unless the thread is reading. The thread then closes it.
        private func closeFile(_ state: inout State) {
            guard state.phase != .reading, state.file.take() != nil else { return }
            core.openFileCount.subtract(1, ordering: .relaxed)
        }

        // MARK: The thread

        /// Reads the next block on a thread.
        private func submit() {
            do throws(LoadError) {
                try core.fileThreads.run { [self] in readBlocks() }
            } catch {
                var buffer: [UInt8] = []
                let whenReady = didRead(&buffer, failure: error)
                state.withLock { $0.phase = .idle }
                whenReady?()
            }
        }

        /// Reads the next block, and more blocks while the caller waits for the next one.
        private func readBlocks() {
            repeat {
                readBlock()?()
                guard mustContinue() else { return }
            } while !core.fileThreads.hasWaitingJobs
            // Other readers wait for the thread, so the rest is a new job.
            submit()
        }

        private func mustContinue() -> Bool {
            state.withLock { state in
                let isWanted = state.whenReady != nil && !state.isClosed && state.failure == nil && state.nextBlock <= lastBlock
                state.phase = isWanted ? .reading : .idle
                return isWanted
            }
        }

        /// - Returns: the `whenReady` of the caller, to be called without the lock; `nil` if the caller does not wait.
        private func readBlock() -> (@Sendable () -> Void)? {
            let (known, index) = state.withLock { ($0.file, $0.nextBlock) }
            var buffer = state.withLock { exchange(&$0.buffer, with: []) }
            do throws(LoadError) {
                let file = if let known { known } else { try openFile() }
                if known == nil { state.withLock { $0.file = file } }
                try read(index, of: file, into: &buffer)
                return didRead(&buffer, failure: nil)
            } catch {
                return didRead(&buffer, failure: error)
            }
        }

        private func openFile() throws(LoadError) -> BodyFile {
            guard core.openFileCount.add(1, ordering: .relaxed).newValue <= DiskCacheCore.openFileLimit else {
                core.openFileCount.subtract(1, ordering: .relaxed)
                throw LoadError(.noResources, message: "too many stored responses are being read; load this one from its source")
            }
            do throws(StoreError) {
                let file = try BodyFile.opened(core.folder.bodyPath(id))
                if lastBlock > 0 { file.expectSequentialReads() }
                return file
            } catch {
                core.openFileCount.subtract(1, ordering: .relaxed)
                // Mostly, another process has removed the entry in the meantime.
                if error.code != .noResources { core.removeDamaged(id, because: error.message, level: .debug) }
                throw Self.damaged(error.message)
            }
        }

        /// Reads and verifies a block.
        private func read(_ index: Int, of file: BodyFile, into buffer: inout [UInt8]) throws(LoadError) {
            do throws(StoreError) {
                let block = layout.block(index)
                try file.read(block, into: &buffer)
                guard unsafe layout.isIntact(buffer.span.extracting(..<block.count).bytes, block: index, id: id) else {
                    throw StoreError(.corrupt, "the checksum of '\(core.folder.bodyPath(id))' is wrong in block \(index)")
                }
            } catch {
                core.removeDamaged(id, because: error.message)
                throw Self.damaged(error.message)
            }
        }

        private static func damaged(_ problem: String) -> LoadError {
            LoadError(.ioFailed, message: "the stored response can't be read: \(problem); load it from its source")
        }

        /// Keeps the octets of the next block, or the reason why there are none.
        ///
        /// - Returns: the `whenReady` of the caller, to be called without the lock; `nil` if the caller does not wait.
        private func didRead(_ buffer: inout [UInt8], failure: LoadError?) -> (@Sendable () -> Void)? {
            state.withLock { state in
                state.phase = .calling
                // After the time limit, the octets are not used any more.
                if state.failure == nil, let failure { state.failure = failure }
                if state.failure == nil, !state.isClosed {
                    let block = layout.block(state.nextBlock)
                    let wanted = block.clamped(to: range)
                    state.rest = Int(wanted.lowerBound - block.lowerBound)..<Int(wanted.upperBound - block.lowerBound)
                    state.buffer = exchange(&buffer, with: [])
                    state.hasBegun = true
                    state.nextBlock += 1
                }
                if state.isClosed || state.failure != nil || state.nextBlock > lastBlock { closeFile(&state) }
                return state.whenReady.take()
            }
        }
    }
#endif
