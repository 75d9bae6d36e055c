// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCore
    import PortolanFileSystem

    /// A transfer of the service, with its load while it runs.
    struct QueuedTransfer {
        var task: TransferDescription
        var status: TransferStatus
        /// The load of a running transfer.
        var load: LoadTask?
        /// Whether a program has cancelled the running transfer.
        var isCancelled = false
        /// The written file, without symbolic links; `nil` if there is none.
        let writtenPath: String?

        init(task: TransferDescription, status: TransferStatus) {
            (self.task, self.status) = (task, status)
            writtenPath = task.writtenPath.map(FileSystem.canonical)
        }

        var end: EndIdentifier { EndIdentifier(id: status.transfer.id, round: status.round) }
        var isEnded: Bool { status.transfer.state.hasEnded }
        var isActive: Bool { status.transfer.state == .waiting || status.transfer.state == .running }

        /// The transfer with the progress of its load.
        var current: BackgroundTransfer {
            var copy = self
            if let progress = load?.progress { copy.record(progress) }
            return copy.status.transfer
        }

        mutating func record(_ progress: LoadProgress) {
            let isUpload = task.kind == .upload
            status.transfer.bytes = isUpload ? progress.bytesSent : progress.bytesWritten
            status.transfer.expectedBytes = isUpload ? progress.expectedBytesToSend : progress.expectedBytesToWrite
        }

        /// The final path of `status.movingFile`, if that file was renamed before the service ended; otherwise `nil`.
        var renamedPath: String? {
            guard let file = status.movingFile, let written = task.writtenPath else { return nil }
            // `try?` because a path that can't be resolved has no file.
            guard let path = task.existingFile == "replace" ? try? FileSystem.destination(of: written) : written else { return nil }
            let (folder, name) = FileSystem.split(path)
            // If a number is added to a long name, the name is shortened before the number.
            let prefix = String(name.unicodeScalars.prefix(60))
            let names = ((try? FileSystem.names(in: folder)) ?? []).filter { $0.hasPrefix(prefix) }
            return names.map { folder + $0 }.first { FileIdentity(at: $0) == file }
        }
    }
#endif
