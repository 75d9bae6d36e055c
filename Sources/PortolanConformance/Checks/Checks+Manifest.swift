// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// MANIF: what a manifest says of its library.
extension ConformanceCheck {
    static let manifest: [ConformanceCheck] = [
        opened("MANIF-02"), opened("MANIF-03"), opened("MANIF-04"),
        ConformanceCheck("MANIF-05") { trial throws(Unjudged) in
            guard trial.subject.manifest != nil else { throw Unjudged("the library was named without a manifest") }
            let loads = trial.subject.loads
            if !loads.contains(where: { $0.error == nil && !$0.tags.contains(.hangs) }) {
                trial.fail("the manifest names no URL that succeeds")
            }
            if !loads.contains(where: { $0.error != nil }) { trial.fail("the manifest names no URL that fails") }
        },
        opened("MANIF-06"),
    ]

    /// Opens the plugin as a host does, and looks whether it is refused by this rule.
    private static func opened(_ id: String) -> ConformanceCheck {
        ConformanceCheck(id) { trial throws(Unjudged) in
            guard let manifest = trial.subject.manifest else { throw Unjudged("the library was named without a manifest") }
            do throws(LoadError) {
                _ = try manifest.open()
            } catch {
                guard let place = error.message.firstRange(of: "\(id): ") else {
                    throw Unjudged("the plugin is refused for another reason: \(error.message)")
                }
                trial.fail(String(error.message[place.upperBound...]))
            }
        }
    }
}
