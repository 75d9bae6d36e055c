// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Portolan
import PortolanCore

/// Options for user names and passwords in a netrc file, as in curl.
struct NetrcOptions: ParsableArguments {
    @Flag(
        name: [.customShort("n"), .customLong("netrc")],
        help:
            "Use the user name and password that ~/.netrc has for a host, instead of those in the URL, unless the URL names another user. -u has precedence."
    )
    var usesNetrc = false

    @Flag(name: .customLong("netrc-optional"), help: "Like --netrc, but a user name and password in the URL have precedence.")
    var prefersURL = false

    @Option(
        name: .customLong("netrc-file"), parsing: .unconditional,
        help: ArgumentHelp("Like --netrc, with this file.", valueName: "file"), completion: .file())
    var path: String?

    func validate() throws {
        if path?.isEmpty == true { throw ValidationError("--netrc-file: the name of the file is empty") }
    }

    /// Whether an option requests the netrc file.
    var isUsed: Bool { usesNetrc || prefersURL || path != nil }

    /// Reads the netrc file. Returns `nil` if no option requests it, if `-u` or `--oauth2-bearer` has precedence, or if
    /// `~/.netrc` does not exist.
    func credentials(for request: RequestOptions) throws(Failure) -> NetrcCredentials? {
        guard isUsed, request.user == nil, request.bearerToken == nil else { return nil }
        do throws(LoadError) {
            let file = if let path { try NetrcFile(contentsOf: path) } else { try NetrcFile.ofUser() }
            return file.map { NetrcCredentials(file: $0, prefersURL: prefersURL, method: request.authentication) }
        } catch {
            throw Failure(.unreadable, "\(path == nil ? "--netrc" : "--netrc-file"): \(error.phrase)")
        }
    }
}

/// The user names and passwords of a netrc file, and when they are sent.
struct NetrcCredentials: Sendable {
    let file: NetrcFile
    /// Whether user name and password in the URL have precedence.
    let prefersURL: Bool
    let method: ChallengeResponder.Method

    /// Whether the file has a credential for the request's host, and this credential has precedence over a credential
    /// in the request's URL.
    ///
    /// - Parameter mustNamePort: whether only the entries that name the port count.
    func hasCredential(for request: Request, mustNamePort: Bool = false) -> Bool {
        userAndPassword(for: request.url, mustNamePort) != nil
    }

    /// If the request has no `Authorization` field, removes the credentials in its URL, and applies the credential for
    /// its host. Basic sends it with the first request over HTTP. The other methods send it after a challenge.
    ///
    /// - Parameter mustNamePort: whether only the entries that name the port count.
    /// - Returns: the responder that sends the credential after a challenge; `nil` if no credential applies.
    func apply(to request: inout Request, mustNamePort: Bool = false) -> ChallengeResponder? {
        guard !request.fields.contains(.authorization), let (user, password) = userAndPassword(for: request.url, mustNamePort) else {
            return nil
        }
        let url = request.url
        request.url = url.withoutCredentials
        request.credentialSource = "netrc"
        if method == .basic, url.scheme == "http" || url.scheme == "https" {
            // This is only a warning, because Digest can send characters that Basic cannot.
            do throws(LoadError) { try request.setBasicAuthorization(user: user, password: password) } catch {
                Diagnostics.warn("netrc: no credentials sent with the first request: \(error.message)")
            }
        }
        return ChallengeResponder(user: user, password: password, for: .origin(request.url), by: method, from: "netrc")
    }

    private func userAndPassword(for url: URLRecord, _ mustNamePort: Bool) -> (user: String, password: String)? {
        if prefersURL, !url.password.isEmpty { return nil }
        let user = url.username.isEmpty ? nil : PercentEncoding.decode(url.username)
        guard let host = url.host, !host.isEmpty,
            case .password(let user, let password, _)? = file.credential(
                forHost: host, port: url.effectivePort, user: user, mustNamePort: mustNamePort)
        else { return nil }
        return (user, password)
    }
}
