// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import FoundationEssentials
import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension RuleCatalogue {
    /// Compares the permissions in the manifest with the flags of the handlers.
    static func checkPermissions(_ context: CheckContext) throws(CheckSkipped) {
        let manifest = try context.manifest().manifest
        guard !manifest.bindsLibrary else { throw CheckSkipped("it does not apply: a binding needs no permission") }
        let handlers = try context.plugin().handlers.filter(\.usesCookies)
        let isPermitted = manifest.permissions.contains(.cookies)
        if let handler = handlers.first, !isPermitted {
            context.fail(
                "\(handler.identifier.text ?? "a handler") sets PORTOLAN_COOKIES, but the manifest's permissions do not contain \"cookies\""
            )
        }
        if handlers.isEmpty, isPermitted {
            context.warn("the manifest's permissions contain \"cookies\", but no handler sets PORTOLAN_COOKIES")
        }
    }
}

extension RuleCatalogue {
    /// Performs every load under observation, and compares what the plugin used with the permissions in the manifest.
    static func checkUses(_ context: CheckContext) throws(CheckSkipped) {
        let library = try context.libraryPath()
        let manifest = try context.manifest()
        guard context.instanceContext.isSupervised else {
            throw CheckSkipped("the observation of system calls can't be ended in this process; run the check without --in-process")
        }
        let loads = try context.loads(.any)
        let permittedUses = PermittedUses(
            manifest.manifest.permissions,
            folders: [manifest.folder, String(library[..<(library.lastIndex(of: "/") ?? library.startIndex)])])
        do throws(LoadError) {
            try context.instanceContext.nestedLoads.startOnSeparateThread()
        } catch {
            throw CheckSkipped.resourceShortage(error.message)
        }
        let threads = ProcessResources.threadsOfPlugins()
        let observation = try CallObservation()
        var isHidden = false
        func checkNewUses(_ place: String) {
            let libraries = LoadedLibraries.names()
            for use in observation.newUses() {
                if use == .hidden { isHidden = true }
                if let objection = permittedUses.objection(to: use, libraries: libraries) { context.fail("\(place): \(objection)") }
            }
        }
        let instance = try context.instance()
        checkNewUses("while it was opened and started")
        var (hasPerformedLoad, skipReason) = (false, CheckSkipped?.none)
        for load in loads {
            do throws(CheckSkipped) {
                let (request, script) = try context.requestAndScript(load)
                _ = try context.perform(request, of: instance, script)
                hasPerformedLoad = true
            } catch {
                skipReason = error
            }
            checkNewUses("'\(load.url)'")
        }
        if context.areAllLoadsIdle {
            instance.end()
            // The check's process itself exits without a call of the destructors.
            try context.library().callDestructors()
            // Threads that have not ended can still use files or the network. The host's threads do not end.
            Polling.result(within: .milliseconds(300)) {
                ProcessResources.threadsOfPlugins().isSubset(of: threads) ? .done(()) : .notYet(())
            }
        }
        checkNewUses("while it was ended")
        guard context.findings.isEmpty else { return }
        if !hasPerformedLoad, let skipReason { throw skipReason }
        if isHidden {
            throw CheckSkipped(
                "the plugin uses io_uring(7), open_by_handle_at(2) or calls of another processor mode, which can't be observed")
        }
        if observation.isIncomplete { throw CheckSkipped("not all of the plugin's system calls could be observed") }
    }
}
