// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import Logging
    import PortolanCache
    import PortolanCore
    import Synchronization

    /// Reads the file of a body in blocks, on a thread that may block, and verifies each block before anything of it is
    /// delivered. It reads the next blocks while the caller uses one.
    final class FileBodyReader: CacheBodyReader {
        /// Verified octets, and those of them that are not delivered yet.
        private struct Block {
            let octets: [UInt8]
            var rest: Range<Int>
        }

        private struct State {
            var file: BodyFile?
            var blocks: [Block] = []
            /// The next block to read.
            var nextBlock: Int
            var isReading = false
            /// Whether the first block has been read.
            var hasBegun = false
            var failure: LoadError?
            var isClosed = false
            var whenReady: (@Sendable () -> Void)?
        }

        /// How many blocks are read before they are needed.
        private static let blockLimit = 3

        private let id: Int64
        private let layout: BodyLayout
        /// The stored octets to read.
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

        func start() {
            readAhead()
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
            let (result, octets, slice): (BodyRead, [UInt8], Range<Int>) = state.withLock { state in
                guard let block = state.blocks.first else {
                    if let failure = state.failure { return (.failed(failure), [], 0..<0) }
                    if state.nextBlock > lastBlock && !state.isReading { return (.end, [], 0..<0) }
                    state.whenReady = whenReady
                    return (.wait, [], 0..<0)
                }
                let slice = block.rest.lowerBound..<block.rest.lowerBound + min(limit, block.rest.count)
                state.blocks[0].rest = slice.upperBound..<block.rest.upperBound
                if state.blocks[0].rest.isEmpty { state.blocks.removeFirst() }
                return (.bytes, block.octets, slice)
            }
            readAhead()
            if case .bytes = result { unsafe receive(octets.span.extracting(slice).bytes) }
            return result
        }

        func close() {
            state.withLock { state in
                state.isClosed = true
                state.blocks = []
                state.whenReady = nil
                closeFile(&state)
            }
        }

        /// The thread that reads closes the file itself.
        private func closeFile(_ state: inout State) {
            guard !state.isReading, state.file.take() != nil else { return }
            core.openFileCount.subtract(1, ordering: .relaxed)
        }

        // MARK: The thread

        /// Reads on another thread, unless that happens already, or enough is read.
        private func readAhead() {
            let mustRead = state.withLock { state in
                guard !state.isReading, !state.isClosed, state.failure == nil, state.nextBlock <= lastBlock,
                    state.blocks.count < Self.blockLimit
                else { return false }
                state.isReading = true
                return true
            }
            guard mustRead else { return }
            do throws(LoadError) {
                try core.fileThreads.run { [self] in readBlock() }
            } catch {
                didRead(.failure(error))
            }
        }

        private func readBlock() {
            let (known, index) = state.withLock { ($0.file, $0.nextBlock) }
            do throws(LoadError) {
                let file = if let known { known } else { try openFile() }
                state.withLock { $0.file = file }
                didRead(.success(try verifiedBlock(index, file)))
            } catch {
                didRead(.failure(error))
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

        private func verifiedBlock(_ index: Int, _ file: BodyFile) throws(LoadError) -> [UInt8] {
            do throws(StoreError) {
                let octets = try file.read(layout.block(index))
                if unsafe layout.isIntact(octets.span.bytes, block: index, id: id) { return octets }
                throw StoreError(.corrupt, "the checksum of '\(core.folder.bodyPath(id))' is wrong in block \(index)")
            } catch {
                core.removeDamaged(id, because: error.message)
                throw Self.damaged(error.message)
            }
        }

        private static func damaged(_ problem: String) -> LoadError {
            LoadError(.ioFailed, message: "the stored response can't be read: \(problem); load it from its source")
        }

        /// Adds the octets of the next block, continues to read, and calls the caller that waits.
        private func didRead(_ result: Result<[UInt8], LoadError>) {
            let whenReady: (@Sendable () -> Void)? = state.withLock { state in
                state.isReading = false
                switch result {
                // The disk was too slow.
                case _ where state.failure != nil: break
                case .success(let octets):
                    state.hasBegun = true
                    let block = layout.block(state.nextBlock)
                    let rest = block.clamped(to: range)
                    if !state.isClosed {
                        state.blocks.append(
                            Block(octets: octets, rest: Int(rest.lowerBound - block.lowerBound)..<Int(rest.upperBound - block.lowerBound)))
                    }
                    state.nextBlock += 1
                case .failure(let error): state.failure = error
                }
                if state.isClosed || state.failure != nil || state.nextBlock > lastBlock { closeFile(&state) }
                return state.whenReady.take()
            }
            // Another thread reads while this one runs the caller.
            readAhead()
            whenReady?()
        }
    }
#endif
