// SPDX-License-Identifier: Apache-2.0

// The package trait.
#if Observability
    public import CoreMetrics
    import HTTPTypes
    public import PortolanCore
    import PortolanURL
    import Synchronization

    extension Interceptor {
        /// Makes an interceptor that records the duration of each request with swift-metrics.
        ///
        ///     var configuration = Loader.Configuration.default
        ///     configuration.handlers = [Interceptor.metrics()]
        ///
        /// The timer is `http.client.request.duration`, as in OpenTelemetry's conventions for HTTP clients: from the
        /// start of the request, including the wait for a connection, to the end of the response's body. It has these
        /// dimensions:
        ///
        /// - `http.request.method`: the method, or `_OTHER` for a method that is not standard
        /// - `url.scheme`, `server.address` and `server.port`: those of the URL
        /// - `http.response.status_code`: the status, if there is a response with one
        /// - `error.type`: the status from 400 on, the name of a `LoadError.Code`, or `cancelled`; absent for a success
        /// - `portolan.source`: `network`, `cache` or `validated`, if there is a response
        ///
        /// The request after a redirect, and each further attempt, counts as another request. A request that is sent
        /// again with the answer to a challenge does not.
        ///
        /// - Parameters:
        ///   - schemes: the schemes of the requests that are recorded.
        ///   - factory: makes the timers; `nil` for the one of `MetricsSystem` at the time of each request.
        public static func metrics(
            schemes: SchemeSet = .only(["http", "https"]), factory: (any MetricsFactory)? = nil
        ) -> Interceptor {
            Interceptor(identifier: "org.portolan.metrics", schemes: schemes) { request in
                let record = RequestRecord(request, factory ?? MetricsSystem.factory)
                return Hooks { _ in
                } onRedirect: { response in
                    record.receive(response)
                } onResponse: { response in
                    record.receive(response)
                } onEnd: { outcome in
                    record.end(outcome)
                }
            }
        }
    }

    /// What is known about one request.
    private final class RequestRecord: Sendable {
        private let request: Request
        private let factory: any MetricsFactory
        private let start = ContinuousClock.now
        private let response = Mutex<Response?>(nil)

        init(_ request: Request, _ factory: any MetricsFactory) { (self.request, self.factory) = (request, factory) }

        func receive(_ response: Response) { self.response.withLock { $0 = response } }

        func end(_ outcome: Interceptor.Outcome) {
            let duration = start.duration(to: .now)
            let response = response.withLock { $0 }
            var dimensions = [
                ("http.request.method", request.method.isStandard ? request.method.rawValue : "_OTHER"),
                ("url.scheme", String(request.url.scheme)),
            ]
            if let host = request.url.hostWithoutBrackets { dimensions.append(("server.address", host)) }
            if let port = request.url.effectivePort { dimensions.append(("server.port", String(port))) }
            if let status = response?.status { dimensions.append(("http.response.status_code", String(status.code))) }
            if let error = outcome.errorType(response?.status) { dimensions.append(("error.type", error)) }
            if let response { dimensions.append(("portolan.source", response.source.rawValue)) }
            Timer(label: "http.client.request.duration", dimensions: dimensions, factory: factory).recordNanoseconds(duration.nanoseconds)
        }
    }

    extension Interceptor.Outcome {
        /// The kind of error, in the words of OpenTelemetry's `error.type`; `nil` for a success.
        fileprivate func errorType(_ status: HTTPResponse.Status?) -> String? {
            if let status, status.code >= 400 { return String(status.code) }
            return switch self {
            case .failed(let error): error.name
            case .stopped: LoadError.Code.cancelled.description
            case .finished, .redirected: nil
            }
        }
    }
#endif
