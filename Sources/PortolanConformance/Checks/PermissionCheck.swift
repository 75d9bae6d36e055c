// SPDX-License-Identifier: Apache-2.0

import PortolanPlugins

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
