// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanFileSystem
import PortolanPlugins

extension Request {
    /// Makes a request for a URL from the command line. Without a scheme, it is an `http:` URL. For a path, the error
    /// shows how to write it as a URL.
    ///
    /// - Parameter schemes: the known schemes.
    init(argument: String, knownSchemes schemes: [String] = []) throws(Failure) {
        do throws(LoadError) {
            try self.init(URLArgument.addingScheme(to: argument, knownSchemes: schemes))
        } catch {
            guard ["/", "./", "../"].contains(where: argument.hasPrefix) else { throw Failure(error) }
            let path = FileSystem.resolved(argument) ?? argument
            // If the text has user information, a proposal would repeat the password.
            let showsPath = path.hasPrefix("/") && UserInformation.removed(from: argument, includingReferences: true) == argument
            let proposal = showsPath ? "'file://\(PercentEncoding.encodePath(path))'" : "'file://' and its absolute path"
            throw Failure(
                error,
                message:
                    "'\(UserInformation.removed(from: argument, includingReferences: true))' is not a URL; for a file, write \(proposal)")
        }
    }
}

extension Request {
    /// Throws if no handler serves a URL that is probably user information and a host without a scheme, as in
    /// `user:password@host/`. Otherwise the reports of the load would show the password.
    func checkForMissingScheme(on loader: Loader) throws(Failure) {
        guard url.host == nil, url.schemeSpecificPart.contains("@"),
            !loader.handlerCandidates(for: self).contains(where: { $0.refusal == nil })
        else { return }
        throw Failure(
            LoadError(
                .unsupportedScheme,
                message:
                    "no handler serves the URL's scheme; if the URL begins with a user name and a password, write 'https://' before them; "
                    + "known schemes: \(Loader.list(loader.schemes))"))
    }
}

extension Failure {
    /// Proposes in the message a URL with the most similar of the known schemes, if the argument's scheme was probably
    /// misspelt, as in `htp://h/`.
    func suggestingScheme(for argument: String, among schemes: [String]) -> Failure {
        // `try?` because an invalid URL is no suggestion.
        guard status == .unsupportedScheme, let message, let url = try? URLRecord(parsing: argument), !url.isSpecial else { return self }
        let scheme = String(url.scheme)
        // Most misspelt schemes have the right first letter, so `sftp` is not a misspelt `http`.
        let candidates = schemes.filter { $0 != scheme && $0.first == scheme.first }
        guard let name = NameSuggestion.closest(to: scheme, among: candidates),
            let meant = try? URLRecord(parsing: name + url.string.dropFirst(scheme.count))
        else { return self }
        return Failure(status, "\(message); did you mean '\(meant)'?", code: code)
    }
}
