// SPDX-License-Identifier: Apache-2.0

// The package trait.
#if Observability
    import HTTPTypes
    public import PortolanCore
    import PortolanURL
    import Synchronization
    public import Tracing

    extension Interceptor {
        /// Makes an interceptor that makes a span for each request with swift-distributed-tracing, and adds the context
        /// of the span to the request, for example in the field `traceparent`.
        ///
        ///     var configuration = Loader.Configuration.default
        ///     configuration.handlers = [Interceptor.tracing()]
        ///
        /// The parent of the span is the one that is current where the task is made. Name, kind and attributes are
        /// those of OpenTelemetry's conventions for HTTP clients: `http.request.method`, `url.full` without user
        /// name and password and without the signatures that the conventions name, `url.scheme`, `server.address`,
        /// `server.port`, `http.response.status_code`, and `error.type`. Other secrets in a query stay.
        /// `portolan.source` is `network`, `cache` or `validated`. The span ends with the response's body. Its
        /// status is an error if the load fails, or with a status from 400 on. If the caller cancels the load, only
        /// `error.type` says so.
        ///
        /// The request after a redirect, and each further attempt, has a span of its own. The request that answers a
        /// challenge does not.
        ///
        /// - Parameters:
        ///   - schemes: the schemes of the requests that are traced. Only `http:` and `https:` requests carry the
        ///     context, in their fields.
        ///   - tracer: makes the spans; `nil` for the one of `InstrumentationSystem` at the time of each request.
        public static func tracing(schemes: SchemeSet = .only(["http", "https"]), tracer: (any Tracer)? = nil) -> Interceptor {
            Interceptor(identifier: "org.portolan.tracing", schemes: schemes, capturing: { TaskTrace() }) { _, task in
                let trace = RequestTrace(tracer ?? InstrumentationSystem.tracer, task)
                return Hooks { request in
                    trace.begin(&request)
                } onRedirect: { response in
                    trace.receive(response)
                } onResponse: { response in
                    trace.receive(response)
                } onEnd: { outcome in
                    trace.end(outcome)
                }
            }
        }
    }

    /// What the requests of a task share.
    private final class TaskTrace: Sendable {
        let context = ServiceContext.current ?? .topLevel
        /// The fields that were added to the last request. After a redirect, the next request still has them, with the
        /// context of the earlier span.
        let injectedNames = Mutex<Set<HTTPField.Name>>([])
    }

    /// The span of one request.
    private final class RequestTrace: Sendable {
        private enum State {
            case created
            case running(any Span)
            case over
        }

        private let tracer: any Tracer
        private let task: TaskTrace
        private let state = Mutex(State.created)

        init(_ tracer: any Tracer, _ task: TaskTrace) { (self.tracer, self.task) = (tracer, task) }

        func begin(_ request: inout Request) {
            let (method, isStandard) = (request.method.rawValue, request.method.isStandard)
            if case .over = state.withLock({ $0 }) { return }
            let span = tracer.startAnySpan(isStandard ? method : "HTTP", context: task.context, ofKind: .client)
            span.updateAttributes { attributes in
                attributes["http.request.method"] = isStandard ? method : "_OTHER"
                if !isStandard { attributes["http.request.method_original"] = method }
                attributes["url.full"] = request.url.withoutSignatures
                attributes["url.scheme"] = String(request.url.scheme)
                if let host = request.url.hostWithoutBrackets { attributes["server.address"] = host }
                if let port = request.url.effectivePort { attributes["server.port"] = port }
            }
            let isRunning = state.withLock { state in
                guard case .created = state else { return false }
                state = .running(span)
                return true
            }
            guard isRunning else {
                // The load was stopped in the meantime.
                span.attributes["error.type"] = LoadError.Code.cancelled.description
                return span.end()
            }
            guard ["http", "https"].contains(request.url.scheme) else { return }
            for name in task.injectedNames.withLock({ $0 }) { request.fields[name] = nil }
            var added = HTTPFields()
            tracer.inject(span.context, into: &added, using: FieldInjector())
            task.injectedNames.withLock { $0 = Set(added.map(\.name)) }
            for field in added { request.fields[field.name] = field.value }
        }

        func receive(_ response: Response) {
            guard case .running(let span) = state.withLock({ $0 }) else { return }
            span.attributes["portolan.source"] = response.source.rawValue
            guard let status = response.status else { return }
            span.attributes["http.response.status_code"] = status.code
            guard status.code >= 400 else { return }
            span.attributes["error.type"] = String(status.code)
            span.setStatus(SpanStatus(code: .error))
        }

        func end(_ outcome: Interceptor.Outcome) {
            let previous = state.withLock { state in
                defer { state = .over }
                return state
            }
            guard case .running(let span) = previous else { return }
            switch outcome {
            case .failed(let error):
                if span.attributes.get("error.type") == nil { span.attributes["error.type"] = error.name }
                span.recordError(error)
                span.setStatus(SpanStatus(code: .error, message: error.message))
            case .stopped:
                if span.attributes.get("error.type") == nil { span.attributes["error.type"] = LoadError.Code.cancelled.description }
            case .finished, .redirected: break
            }
            span.end()
        }
    }

    extension URLRecord {
        /// The URL without user name and password, and with `REDACTED` for the signatures of well-known services
        /// (OpenTelemetry, "Semantic conventions for HTTP spans").
        fileprivate var withoutSignatures: String {
            let text = withoutCredentials.string
            guard let query, let start = text.firstIndex(of: "?") else { return text }
            let parts = query.split(separator: "&", omittingEmptySubsequences: false).map { part in
                let name = part.prefix { $0 != "=" }
                return Self.signatureNames.contains(String(name)) && name.count < part.count ? "\(name)=REDACTED" : String(part)
            }
            let fragment = text.firstIndex(of: "#").map { String(text[$0...]) } ?? ""
            return "\(text[..<start])?\(parts.joined(separator: "&"))\(fragment)"
        }

        private static let signatureNames: Set = ["AWSAccessKeyId", "Signature", "sig", "X-Goog-Signature"]
    }

    /// Adds the context of a span to the fields of a request. A name or a value that is not one of HTTP is left out.
    private struct FieldInjector: Injector {
        func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
            guard let name = HTTPField.Name(key), HTTPField.isValidValue(value) else { return }
            fields[name] = value
        }
    }
#endif
