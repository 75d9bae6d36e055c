// SPDX-License-Identifier: Apache-2.0

import CPluginObservation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// State that must not change during a run: the plugin's library, and the resource limits of the runner's processes. If
/// a plugin changes this state, later checks may be impossible, so the check that ran at that time fails.
@safe
struct StandingState {
    private let library: String?
    private var identity: LibraryIdentity?
    private var limits = portolan_limits()
    /// Whether a check has run the plugin's code.
    private var hasRunPlugin = false

    /// - Parameter library: The plugin's library; `nil` disables the review.
    init(of library: String?) {
        self.library = library
        identity = library.flatMap(LibraryIdentity.init)
        _ = unsafe portolan_get_limits(0, &limits)
    }

    /// Fails the check of `outcome` if the state has changed, and restores as much of the state as possible.
    ///
    /// - Returns: Whether the supervisor of the check can run more checks.
    mutating func review(_ outcome: inout SupervisorHandle.Outcome) -> Bool {
        guard let library else { return true }
        let result = outcome.result
        if let shortage = result.shortage, result.verdict == .skipped || result.verdict == .crashed, shortage == .later || hasRunPlugin {
            outcome.result.fail("the runner lacks a resource that it had before the plugin's code ran: \(outcome.result.note ?? "")")
        }
        // With a shortage from the start, no code of the plugin ran.
        if outcome.result.shortage != .fromTheStart { hasRunPlugin = true }
        let currentIdentity = LibraryIdentity(library)
        if currentIdentity != identity {
            outcome.result.fail("'\(library)' was \(currentIdentity == nil ? "removed" : "changed") while this check or a parallel one ran")
            identity = currentIdentity
        }
        let hasRestoredOwnLimits = restoreLimits(of: 0, &outcome)
        guard let supervisorProcessID = outcome.supervisorProcessID else { return hasRestoredOwnLimits }
        return restoreLimits(of: supervisorProcessID, &outcome) && hasRestoredOwnLimits
    }

    private func restoreLimits(of process: pid_t, _ outcome: inout SupervisorHandle.Outcome) -> Bool {
        var limits = limits
        let changed = unsafe portolan_restore_limits(process, &limits)
        guard changed != 0 else { return true }
        outcome.result.fail("the resource limits of the runner's own processes were changed while this check or a parallel one ran")
        return changed > 0
    }
}

/// The identity and version of a file.
private struct LibraryIdentity: Equatable {
    private let numbers: [Int]

    /// `nil` if there is no file.
    init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        numbers = [
            Int(bitPattern: UInt(status.st_dev)), Int(bitPattern: UInt(status.st_ino)), Int(status.st_size),
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
        ]
    }
}
