// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension LibraryCopy {
    /// The first of `$TMPDIR`, `/tmp`, `/var/tmp` and `/dev/shm` that is not mounted with `noexec`. `dlopen(3)` cannot
    /// open a library in a folder that is.
    package static var temporaryFolder: String {
        let candidates = [Environment["TMPDIR"], "/tmp", "/var/tmp", "/dev/shm"].compactMap(\.self)
        return candidates.first(where: { !isMountedNoexec($0) }) ?? candidates[0]
    }

    /// Returns `false` for a missing folder, which is then used, so that the error names it.
    private static func isMountedNoexec(_ folder: String) -> Bool {
        var system = statvfs()
        // statvfs(3): ST_NOEXEC.
        return unsafe statvfs(folder, &system) == 0 && system.f_flag & 8 != 0
    }
}
