// SPDX-License-Identifier: Apache-2.0

import CPortolan
import HTTPTypes
import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// ERR: the errors of failed loads.
extension RuleCatalogue {
    static let errors: [CheckedRule] = [
        .must(
            "ERR-01", level: 2, needs: .fails,
            "If the manifest says that a URL fails with a code, the load fails with that code.",
            because: "Callers branch on codes.",
            remedy: "Map each cause to the nearest published code. If the manifest is wrong, correct it."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            let loads = try context.loads(.fails).filter { !$0.tags.contains(.redirects) }
            guard !loads.isEmpty else { throw CheckSkipped("the manifest names no URL that fails without a redirect") }
            for load in loads {
                guard let statedError = load.error, let last = try context.follow(load, of: instance).last else { continue }
                guard let error = last.failure?.value else {
                    context.fail(
                        "'\(load.url)' should fail with \(statedError), but \(last.didFinish ? "finished" : "gave no readable error")")
                    continue
                }
                if error.codeName != statedError {
                    context.fail("'\(load.url)' should fail with \(statedError), but gave \(LoadResult(last).phrase)")
                }
            }
            instance.end()
        },
        .must(
            "ERR-02", level: 2, isEnforced: true, needs: .fails,
            "Each message is one line of UTF-8 with 1 to 4096 bytes.",
            because: "Programs print messages on terminals and in logs.",
            remedy: "Quote values, replace control characters, and shorten.",
            check: eachLoad(beside: [.marks]) { record in
                guard let message = record.failure?.value?.message else { return [] }
                guard let text = message.text else { return ["the message is \(message.quoted), which is not UTF-8"] }
                if text.isEmpty || text.utf8.count > 4096 { return ["the message has \(text.utf8.count) bytes; it must have 1 to 4096"] }
                return text.unicodeScalars.contains(where: Text.isBreaking) ? ["the message is not one line: \(message.quoted)"] : []
            }),
        .must(
            "ERR-03", level: 2, isEnforced: true, needs: .fails,
            "Each error code is published for plugins, or belongs to the plugin's own domain.",
            because: "Callers cannot branch on a number that they do not know.",
            remedy: "Use the nearest published code, or set domain.",
            check: eachLoad { record in
                guard let error = record.failure?.value else { return [] }
                if error.domain.bytes != nil {
                    return error.domain.text.map(Text.isReverseDNS) == true ? [] : ["the error's domain is \(error.domain.quoted)"]
                }
                let isPublished = LoadError.Code.published.contains { $0.code.rawValue == error.code }
                let isHostCode =
                    (PORTOLAN_ERROR_PLUGIN_REFUSED.rawValue...PORTOLAN_ERROR_PROTOCOL_VIOLATION.rawValue).contains(error.code)
                return isPublished && !isHostCode ? [] : ["the code \(error.code) is not published for plugins"]
            }),
        .must(
            "ERR-04", level: 2,
            "A malformed URL of the plugin's own scheme fails with the code for a bad URL.",
            because: "The caller must distinguish a typing error from a missing resource.",
            remedy: "Refuse in 'make' with PORTOLAN_ERROR_BAD_URL."
        ) { context throws(CheckSkipped) in
            let name = LoadError.Code.badURL.description
            let loads = try context.loads(.fails).filter { $0.error == name }
            guard !loads.isEmpty else { throw CheckSkipped("the manifest names no URL that fails with \(name)") }
            let instance = try context.instance()
            for load in loads {
                guard let error = try context.follow(load, of: instance).last?.failure?.value else {
                    context.fail("'\(load.url)', which is malformed, failed without a readable error")
                    continue
                }
                if error.domain.bytes != nil || error.code != LoadError.Code.badURL.rawValue {
                    context.fail(
                        "'\(load.url)', which is malformed, failed with \(LoadError.Code(rawValue: error.code)), not with \(name)")
                }
            }
            instance.end()
        },
        .must(
            "ERR-05", level: 2, needs: .fails,
            "No message contains the user information of the URL.",
            because: "Otherwise passwords appear in logs.",
            remedy: "Quote host and path, not request->url."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            let (user, password) = CheckContext.wrongCredential
            var checkedLoads = 0
            for load in try context.loads(.any) {
                guard let request = try context.request(of: load, user: user, password: password, to: instance) else { continue }
                guard let error = try context.perform(request, of: instance, CheckContext.script(for: load)).failure?.value else {
                    continue
                }
                checkedLoads += 1
                for message in [error.message] + error.causes.map(\.message) {
                    let messageText = String(decoding: message.bytes ?? [], as: UTF8.self)
                    if messageText.contains(password) {
                        context.fail("a load of '\(load.url)' with a password in its URL failed, and its message shows the password")
                    }
                }
            }
            let linesWithPassword = instance.host.calls.filter { $0.function == "log" && $0.text.contains(password) }
            if !linesWithPassword.isEmpty {
                context.fail("a password of a URL appears in \(ValueFormatting.count(linesWithPassword.count, "log line"))")
            }
            instance.end()
            if checkedLoads == 0 { throw CheckSkipped("no URL of the manifest has a host and fails with a user name before the host") }
        },
        .must(
            "ERR-06", level: 2, needs: .any,
            "The plugin writes nothing to standard output or standard error.",
            because: "Both belong to the program, whose output may go to another program.",
            remedy: "Use host->log.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let plugin = try context.plugin()
            let loads = try context.loads(.any)
            let written = try OutputCapture.bytes(in: context.temporaryFolder) { () throws(CheckSkipped) in
                let instance = try context.instance(of: plugin)
                for load in loads { _ = try context.follow(load, of: instance) }
                for load in loads {
                    let probedLoad = try context.make(context.request(load.url), of: instance, CheckContext.script(for: load))
                    try probedLoad.start()
                    probedLoad.stop()
                    _ = context.recordWhenIdle(probedLoad, within: context.stopTimeLimit)
                }
                if context.areAllLoadsIdle { instance.end() }
            }
            for (name, bytes) in written where !bytes.isEmpty {
                context.fail("it wrote to standard \(name): '\(Text.oneLine(String(decoding: bytes, as: UTF8.self), limit: 80))'")
            }
        },
        .must(
            "ERR-07", level: 3, needs: .any,
            "The plugin never calls exit or abort, and installs no process-wide handler, also none with atexit.",
            because: "The process belongs to another program.",
            remedy: "Fail the load instead.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let (statusBefore, threadsBefore) = (ExitStatus.ofCopy(), ProcessResources.threadsOfPlugins())
            let library = try context.library()
            let first = try context.instance()
            // Nested loads start threads of the host.
            let loads = try context.loads(.any)
            let ownLoads = loads.filter { !$0.tags.contains(.nested) }
            try context.followAll(ownLoads.isEmpty ? loads : ownLoads, of: first)
            if context.areAllLoadsIdle { first.end() }
            if statusBefore == ExitStatus.expected, let phrase = ExitStatus.phraseForChange(since: threadsBefore) {
                context.fail(
                    "a program that ends with status \(ExitStatus.expected) \(phrase), because of a handler of the plugin",
                    remedy: "Register nothing with atexit or on_exit, and end nothing in a destructor of the library.")
            }
            _ = FaultInjection.interpose(on: .end, for: library)
            signal(SIGPIPE, SIG_DFL)
            let before = ProcessEnvironment.current()
            let instance = try context.instance()
            for load in loads {
                // Methods that can change something use a path that does not exist.
                for method in ["GET", "JUDGE", "DELETE"] {
                    for suffix in method == "GET"
                        ? ["", "/judge/nothing-there", "?judge=%00%ff", "%00", "/%0d%0a"] : ["/judge/nothing-there"]
                    {
                        // `try?` because a text that is no URL never reaches a plugin.
                        guard var request = try? context.request(load.url + suffix) else { continue }
                        request.method = .init(method) ?? .get
                        guard let handler = try context.handler(for: request, of: instance) else { continue }
                        let didEnd = try context.performOnSeparateThread(request, handler, CheckContext.script(for: load))
                        if let function = FaultInjection.attemptedEndFunction {
                            return context.fail("\(method) of \(request.url.shortDescription) called \(function)")
                        }
                        if !didEnd { throw CheckSkipped("\(request.url.shortDescription) was still running after a stop (LIFE-06)") }
                    }
                }
            }
            let changedSignals = ProcessEnvironment.current().signals(handledOtherwiseThan: before)
            if !changedSignals.isEmpty {
                context.fail("it changed the handlers of the signals \(changedSignals.map(String.init).joined(separator: ", "))")
            }
            instance.end()
        },
    ]
}
