// SPDX-License-Identifier: Apache-2.0

#if Persistence
    extension StoreError {
        /// Returns the error for a file that can't be opened.
        init(opening failure: Database.Failure, at path: String) {
            let isUnreadable = failure.isCausedByContents && !failure.isCorrupt
            self.init(isUnreadable ? .corrupt("\(failure.text) (SQLite \(failure.code))") : failure, at: path)
        }

        /// Returns the error for a result code of SQLite (<https://sqlite.org/rescode.html>). SQLite's own text can
        /// contain values of rows, but not for the errors of these statements.
        init(_ failure: Database.Failure, at path: String) {
            let text = "\(failure.text) (SQLite \(failure.code))"
            if failure.code == 4874 {  // SQLITE_IOERR_SHMSIZE
                self.init(.full, "'\(path)-shm' can't be extended; free some space")
                return
            }
            switch failure.primaryCode {
            case 5, 6:  // SQLITE_BUSY, SQLITE_LOCKED
                self.init(.busy, "another process has locked '\(path)' for \(Database.longestWait); try again later")
            case 8:  // SQLITE_READONLY
                self.init(.readOnly, "'\(path)' can't be written: \(text); check its permissions, and whether its file system is read-only")
            case 13:  // SQLITE_FULL
                self.init(.full, "'\(path)' can't be written: the file system is full; free some space")
            case 3, 23: self.init(.accessDenied, "'\(path)' can't be opened: \(text); check its permissions")  // SQLITE_PERM, SQLITE_AUTH
            case 11, 26: self.init(.corrupt, "'\(path)' is damaged: \(text); move it away")  // SQLITE_CORRUPT, SQLITE_NOTADB
            case 7: self.init(.noResources, "'\(path)' can't be used: there is no memory")  // SQLITE_NOMEM
            case 14:  // SQLITE_CANTOPEN
                self.init(
                    .ioFailed,
                    "'\(path)' or a file beside it can't be opened: \(text); check the permissions of the folder, and whether its file system is read-only"
                )
            default: self.init(.ioFailed, "'\(path)' can't be used: \(text)")
            }
        }
    }
#endif
