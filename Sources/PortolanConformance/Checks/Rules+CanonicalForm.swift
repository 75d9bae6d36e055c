// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins

/// CANON: the canonical form, and which stored responses can serve which request.
extension RuleCatalogue {
    static let canonicalForm: [CheckedRule] = [
        .must(
            "CANON-01", level: 2, needs: .any,
            "The canonical form of a canonical request is the same request.",
            because: "The cache stores responses under the canonical form. If the form changes again, the cache finds nothing.",
            remedy: "Call 'give' only if the request differs from its canonical form."
        ) { context throws(CheckSkipped) in
            try context.eachAcceptedRequest { handler, request throws(CheckSkipped) in
                let form = try handler.canonicalForm(of: request)
                let canonical = try context.applying(form.changes.first, to: request)
                let secondForm = try context.applying(handler.canonicalForm(of: canonical).changes.first, to: canonical)
                if secondForm.url != canonical.url || secondForm.method != canonical.method || secondForm.fields != canonical.fields {
                    context.fail(
                        "the canonical form of \(request.url.shortDescription) is \(canonical.url.shortDescription), "
                            + "whose canonical form is \(secondForm.url.shortDescription)")
                }
            }
        },
        .must(
            "CANON-02", level: 2, needs: .any,
            "The canonical form keeps method, body, fields and properties.",
            because: "A stored response to GET must not be used for POST.",
            remedy: "Change the URL and nothing else."
        ) { context throws(CheckSkipped) in
            try context.eachAcceptedRequest { handler, plain throws(CheckSkipped) in
                for method in [HTTPRequest.Method.head, .delete] {
                    var request = plain
                    request.method = method
                    guard let change = try handler.canonicalForm(of: request).changes.first?.value else { continue }
                    if let text = change.method.text, text != method.rawValue {
                        context.fail("the canonical form of \(request.url.shortDescription) changes \(method.rawValue) to '\(text)'")
                    }
                }
                var request = plain
                request.method = .post
                request.body = .bytes([1, 2, 3])
                request.fields[.accept] = "text/plain"
                request.properties["org.example.judge"] = .text("kept")
                guard let change = try handler.canonicalForm(of: request).changes.first?.value else { return }
                let url = request.url.shortDescription
                if let method = change.method.text, method != "POST" {
                    context.fail("the canonical form of \(url) changes POST to '\(method)'")
                }
                if change.dropsBody { context.fail("the canonical form of \(url) drops the body") }
                if change.dropsFields { context.fail("the canonical form of \(url) drops the fields") }
                if let field = change.fields?.first(where: { $0.changes(request.fields) }) {
                    context.fail("the canonical form of \(url) changes the field \(field.name.quoted)")
                }
                if let name = change.propertyNames?.first {
                    context.fail("the canonical form of \(url) changes the property \(name.quoted)")
                }
            }
        },
        .must(
            "CANON-03", level: 2, needs: .any,
            "The handler also accepts the canonical request.",
            because: "Otherwise the cache asks a handler that never loaded the resource.",
            remedy: "Keep the scheme, and every part of the request that can_init reads."
        ) { context throws(CheckSkipped) in
            try context.eachAcceptedRequest { handler, request throws(CheckSkipped) in
                guard let change = try handler.canonicalForm(of: request).changes.first else { return }
                let canonical = try context.applying(change, to: request)
                let scheme = String(canonical.url.scheme)
                let isDeclared = handler.description.takesAnyScheme || handler.description.schemes.contains { $0.text == scheme }
                let isAccepted = try handler.canInit(canonical)
                guard isDeclared, isAccepted else {
                    return context.fail(
                        "the handler does not accept \(canonical.url.shortDescription), which it gives as the canonical form")
                }
            }
        },
        .must(
            "CANON-04", level: 2, needs: .any,
            "Cache equivalence is reflexive and symmetric.",
            because: "The host passes the two requests in either order.",
            remedy: "Compare the two canonical URLs, part by part."
        ) { context throws(CheckSkipped) in
            try context.eachHandler { handler, requests throws(CheckSkipped) in
                let images = try handler.withNeighbours(requests.prefix(8))
                for a in images {
                    if !handler.isCacheEquivalent(a, a) { context.fail("\(a.request.url.shortDescription) is not equivalent to itself") }
                    for b in images where handler.isCacheEquivalent(a, b) != handler.isCacheEquivalent(b, a) {
                        let phrase = "\(a.request.url.shortDescription) and \(b.request.url.shortDescription)"
                        context.fail("\(phrase) are equivalent in one order only")
                    }
                }
            }
        },
        .must(
            "CANON-05", level: 2, needs: .any,
            "Requests with different paths are not equivalent.",
            because: "Otherwise a caller gets the bytes of another resource.",
            remedy: "Compare the whole path, and the query if it matters."
        ) { context throws(CheckSkipped) in
            try context.eachHandler { handler, requests throws(CheckSkipped) in
                let images = try handler.withNeighbours(requests.prefix(8))
                for (index, a) in images.enumerated() {
                    for b in images.dropFirst(index + 1)
                    where a.request.url.hasDifferentPath(from: b.request.url) && handler.isCacheEquivalent(a, b) {
                        context.fail("\(a.request.url.shortDescription) and \(b.request.url.shortDescription) count as equivalent")
                    }
                }
            }
        },
        .must(
            "CANON-06", level: 3, isEnforced: true, needs: .any,
            "canonical_request calls 'give' at most once, before it returns, on the thread that called it.",
            because: "The portolan_canonical structure exists only during the call.",
            remedy: "Call 'give' once, as the last step."
        ) { context throws(CheckSkipped) in
            var forms: [(ProbedForm, Request)] = []
            try context.eachAcceptedRequest { handler, request throws(CheckSkipped) in
                forms.append((try handler.canonicalForm(of: request), request))
                Polling.sleep(.milliseconds(5))
            }
            Polling.sleep(.milliseconds(30))
            for (form, request) in forms {
                let url = request.url.shortDescription
                if form.changes.count > 1 { context.fail("the canonical form of \(url) was given \(form.changes.count) times") }
                if form.lateCallCount > 0 { context.fail("the canonical form of \(url) was given after the function had returned") }
                if form.otherThreadCallCount > 0 { context.fail("the canonical form of \(url) was given from another thread") }
            }
        },
    ]
}

extension ProbedHandler {
    /// Returns images of the requests, and of neighbour URLs that the handler accepts. A neighbour is the URL of a
    /// request without its query, with the same path or with a different end of the path. Some neighbours differ from
    /// each other only in a late byte of the path, which an incomplete comparison ignores, or only in letter case.
    fileprivate func withNeighbours(_ requests: ArraySlice<Request>) throws(CheckSkipped) -> [RequestImage] {
        var all = try requests.map { request throws(CheckSkipped) in try reusableImage(of: request) }
        for request in requests {
            let text = request.url.withoutFragment.description
            let path = String(text.prefix { $0 != "?" })
            let (other, long) = (String(path.dropLast()) + (path.last == "z" ? "y" : "z"), path + String(repeating: "y", count: 24))
            for neighbour in [path, path + "y", other, long + "y", long + "z", long + "Y"] where neighbour != text {
                // `try?` because a text that is no URL never reaches a plugin.
                guard let url = try? URLRecord(parsing: neighbour), try canInit(Request(url: url)) else { continue }
                all.append(try reusableImage(of: Request(url: url)))
            }
        }
        return all
    }
}

extension ReadField {
    /// Whether adding the field changes `fields`.
    fileprivate func changes(_ fields: HTTPFields) -> Bool {
        guard let name = name.text.flatMap({ HTTPField.Name($0) }) else { return true }
        return fields[name] != value.text
    }
}

extension URLRecord {
    /// Whether the decoded path differs. Schemes and hosts are not compared, because they can be aliases.
    fileprivate func hasDifferentPath(from other: Self) -> Bool {
        PercentEncoding.decodedBytes(path) != PercentEncoding.decodedBytes(other.path)
    }
}

extension CheckContext {
    /// Calls `body` with each request of the manifest that a handler accepts, and with this handler.
    fileprivate func eachAcceptedRequest(_ body: (ProbedHandler, Request) throws(CheckSkipped) -> Void) throws(CheckSkipped) {
        let instance = try instance()
        defer { if areAllLoadsIdle { instance.end() } }
        for load in try loads(.any) {
            let request = try request(load.url)
            if let handler = try handler(for: request, of: instance) { try body(handler, request) }
        }
    }

    /// Calls `body` with each handler, and all URLs of the manifest that the handler accepts.
    fileprivate func eachHandler(_ body: (ProbedHandler, [Request]) throws(CheckSkipped) -> Void) throws(CheckSkipped) {
        let instance = try instance()
        defer { if areAllLoadsIdle { instance.end() } }
        let requests = try loads(.any).map { load throws(CheckSkipped) in try request(load.url) }
        for description in instance.plugin.handlers {
            let handler = ProbedHandler(instance: instance, description: description)
            var acceptedRequests: [Request] = []
            for request in requests
            where description.takesAnyScheme || description.schemes.contains(where: { $0.text == String(request.url.scheme) }) {
                if try handler.canInit(request) { acceptedRequests.append(request) }
            }
            try body(handler, acceptedRequests)
        }
    }

    /// Returns the request with the change that a plugin gave.
    fileprivate func applying(_ change: ReadStruct<ReadChange>?, to request: Request) throws(CheckSkipped) -> Request {
        guard let change = change?.value else { return request }
        var result = request
        if let text = change.url.text { result.url = try self.request(text).url }
        if let method = change.method.text.flatMap({ HTTPRequest.Method($0) }) { result.method = method }
        if change.dropsFields { result.fields = [:] }
        for field in change.fields ?? [] {
            if let name = field.name.text.flatMap({ HTTPField.Name($0) }) { result.fields[name] = field.value.text }
        }
        return result
    }
}
