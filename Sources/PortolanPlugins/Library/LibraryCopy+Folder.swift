// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension LibraryCopy {
    /// `$TMPDIR`, or else `/tmp`. Where that is mounted with `noexec`, `dlopen(3)` opens nothing in it: then the first of `/tmp`, `/var/tmp` and
    /// `/dev/shm` that is not.
    package static var temporaryFolder: String {
        let candidates = [Environment["TMPDIR"], "/tmp", "/var/tmp", "/dev/shm"].compactMap(\.self)
        return candidates.first(where: { !isMountedNoexec($0) }) ?? candidates[0]
    }

    /// Where the folder does not exist, it is used all the same: the failure names it.
    private static func isMountedNoexec(_ folder: String) -> Bool {
        var system = statvfs()
        // statvfs(3): ST_NOEXEC.
        return unsafe statvfs(folder, &system) == 0 && system.f_flag & 8 != 0
    }
}
