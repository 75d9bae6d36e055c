// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// Selects the proxy for a request. Made from a ``ProxyPolicy``, whose environment variables are read once.
package struct ProxySelection: Sendable {
    private enum Choice {
        case direct
        case proxy(Proxy)
        /// The text of the proxy is malformed. Loads that need the proxy fail with this error.
        case invalid(LoadError)

        init(_ text: String, from source: String) {
            do throws(LoadError) {
                self = .proxy(try Proxy(parsing: text, from: source))
            } catch {
                self = .invalid(error)
            }
        }

        func get() throws(LoadError) -> Proxy? {
            switch self {
            case .direct: return nil
            case .proxy(let proxy): return proxy
            case .invalid(let error): throw error
            }
        }
    }

    private let httpChoice: Choice
    private let httpsChoice: Choice
    private let exceptions: ProxyExceptions
    private let credential: PasswordCredential?
    private let credentialSource: String?
    private let alwaysTunnels: Bool

    /// - Parameter variable: reads the environment; returns `nil` for a variable that is not set. Called only if the
    ///   policy uses the environment.
    package init(_ policy: ProxyPolicy, environment variable: (String) -> String? = { EnvironmentVariables[$0] }) {
        (credential, credentialSource, alwaysTunnels) = (policy.credential, policy.credentialSource, policy.alwaysTunnels)
        switch policy.source {
        case .none:
            (httpChoice, httpsChoice, exceptions) = (.direct, .direct, ProxyExceptions(parsing: ""))
        case .named(let text, let exceptionList):
            let choice = Choice(text, from: "the proxy")
            (httpChoice, httpsChoice, exceptions) = (choice, choice, ProxyExceptions(parsing: exceptionList))
        case .environment(let exceptionList):
            httpChoice = Self.choice(["http_proxy"], variable)
            httpsChoice = Self.choice(["https_proxy", "HTTPS_PROXY"], variable)
            exceptions = ProxyExceptions(
                parsing: exceptionList ?? Self.firstSetVariable(["no_proxy", "NO_PROXY"], variable)?.value ?? "")
        }
    }

    private static func choice(_ names: [String], _ variable: (String) -> String?) -> Choice {
        guard let (name, text) = firstSetVariable(names + ["all_proxy", "ALL_PROXY"], variable) else { return .direct }
        return Choice(text, from: name)
    }

    private static func firstSetVariable(
        _ names: [String], _ variable: (String) -> String?
    ) -> (name: String, value: String)? {
        for name in names {
            if let value = variable(name), !value.isEmpty { return (name, value) }
        }
        return nil
    }

    /// - Returns: `nil` if the request is loaded without a proxy.
    /// - Throws: the error if the proxy for this request is malformed.
    package func proxy(for request: Request) throws(LoadError) -> Proxy? {
        if !request.properties.isEmpty, let text = request.proxy {
            var proxy = text == "direct" ? nil : try Proxy(parsing: text, from: "the request's proxy")
            if alwaysTunnels { proxy?.alwaysTunnels = true }
            return proxy
        }
        let choice = request.url.scheme == "https" ? httpsChoice : httpChoice
        if case .direct = choice { return nil }
        guard let host = request.url.host, !exceptions.contains(host) else { return nil }
        var proxy = try choice.get()
        if alwaysTunnels { proxy?.alwaysTunnels = true }
        if proxy?.credential == nil, let credential {
            proxy?.credential = credential
            proxy?.credentialSource = credentialSource
        }
        return proxy
    }
}
