// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

extension CheckContext {
    /// Whether a URL gives a different result each time, for example the time or random bytes. A URL with a digest in
    /// the manifest does not vary.
    ///
    /// Called after a difference was found. The first call for a URL performs up to three loads, the last of them about
    /// a second later.
    func varies(_ load: ConformanceLoad) -> Bool {
        guard load.sha256 == nil else { return false }
        if let knownResult = variesByURL[load.url] { return knownResult }
        // `try?` because a load that cannot be performed alone is not known to vary.
        let varies = (try? variesAlone(load)) ?? false
        variesByURL[load.url] = varies
        return varies
    }

    private func variesAlone(_ load: ConformanceLoad) throws(CheckSkipped) -> Bool {
        let instance = try instance()
        let (request, script) = try requestAndScript(load)
        var results: Set<LoadResult> = []
        for pause in [Duration.zero, .zero, .milliseconds(1100)] where results.count < 2 {
            Polling.sleep(pause)
            results.insert(LoadResult(try perform(request, of: instance, script)))
        }
        instance.end()
        return results.count > 1
    }
}
