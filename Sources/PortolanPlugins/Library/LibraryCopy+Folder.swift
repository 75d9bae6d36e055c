// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension LibraryCopy {
    /// `$TMPDIR`, or `/tmp` if it is not set. `dlopen(3)` opens nothing on a file system mounted with `noexec`. In that
    /// case, the first of `/tmp`, `/var/tmp` and `/dev/shm` without `noexec`.
    package static var temporaryFolder: String {
        let candidates = [Environment["TMPDIR"], "/tmp", "/var/tmp", "/dev/shm"].compactMap(\.self)
        return candidates.first(where: { !isMountedNoexec($0) }) ?? candidates[0]
    }

    /// A missing folder is used anyway, so that the error names it.
    private static func isMountedNoexec(_ folder: String) -> Bool {
        var system = statvfs()
        // statvfs(3): ST_NOEXEC.
        return unsafe statvfs(folder, &system) == 0 && system.f_flag & 8 != 0
    }
}
