// SPDX-License-Identifier: Apache-2.0

// The package trait.
#if Observability
    import HTTPTypes
    public import PortolanCore
    import Synchronization
    public import Tracing

    extension Interceptor {
        /// Makes an interceptor that makes a span for each request with swift-distributed-tracing, and adds the context
        /// of the span to the request, for example in the field `traceparent`.
        ///
        ///     var configuration = Loader.Configuration.default
        ///     configuration.handlers = [Interceptor.tracing()]
        ///
        /// The parent of the span is the one that is current where the load is started. Name, kind and attributes are
        /// those of OpenTelemetry's conventions for HTTP clients: `http.request.method`, `url.full` without user name
        /// and password, `url.scheme`, `server.address`, `server.port`, `http.response.status_code`, and `error.type`.
        /// The span ends with the response's body. Its status is an error if the load fails, or with a status from 400
        /// on.
        ///
        /// The request after a redirect has a span of its own. The one that answers a challenge does not.
        ///
        /// - Parameters:
        ///   - schemes: the schemes of the requests that are traced. Only those of HTTP have fields, and so a context.
        ///   - tracer: makes the spans; `nil` for the one of `InstrumentationSystem` at the time of each request.
        public static func tracing(schemes: SchemeSet = .only(["http", "https"]), tracer: (any Tracer)? = nil) -> Interceptor {
            Interceptor(identifier: "org.portolan.tracing", schemes: schemes) { _ in
                let trace = RequestTrace(tracer ?? InstrumentationSystem.tracer)
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

    /// The span of one request.
    private final class RequestTrace: Sendable {
        private enum State {
            case created
            case running(any Span)
            case over
        }

        private let tracer: any Tracer
        private let state = Mutex(State.created)

        init(_ tracer: any Tracer) { self.tracer = tracer }

        func begin(_ request: inout Request) {
            let (method, isStandard) = (request.method.rawValue, request.method.isStandard)
            let span = tracer.startAnySpan(isStandard ? method : "HTTP", ofKind: .client)
            span.updateAttributes { attributes in
                attributes["http.request.method"] = isStandard ? method : "_OTHER"
                if !isStandard { attributes["http.request.method_original"] = method }
                attributes["url.full"] = request.url.withoutCredentials.string
                attributes["url.scheme"] = String(request.url.scheme)
                if let host = request.url.host { attributes["server.address"] = String(host) }
                if let port = request.url.effectivePort { attributes["server.port"] = port }
            }
            let isRunning = state.withLock { state in
                guard case .created = state else { return false }
                state = .running(span)
                return true
            }
            // The load was stopped before.
            guard isRunning else { return span.end() }
            if ["http", "https"].contains(request.url.scheme) {
                tracer.inject(span.context, into: &request.fields, using: FieldInjector())
            }
        }

        func receive(_ response: Response) {
            guard case .running(let span) = state.withLock({ $0 }), let status = response.status else { return }
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
                span.attributes["error.type"] = error.name
                span.recordError(error)
                span.setStatus(SpanStatus(code: .error, message: error.message))
            case .stopped: span.attributes["error.type"] = LoadError.Code.cancelled.description
            case .finished, .redirected: break
            }
            span.end()
        }
    }

    /// Adds the context of a span to the fields of a request. A name or a value that is not one of HTTP is left out.
    private struct FieldInjector: Injector {
        func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
            guard let name = HTTPField.Name(key), HTTPField.isValidValue(value) else { return }
            fields[name] = value
        }
    }
#endif
