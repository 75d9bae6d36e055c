// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore
import PortolanFileSystem

/// What `get` does with the responses of one load, according to its options.
struct ResponseRules: Sendable {
    /// Whether a status of 400 or more fails the load after its body was written (`--fail-with-body`).
    var failsWithBody = false
    /// Whether the load ends after the head of the final response (`-I` with another method than HEAD).
    var endsAfterHead = false
    /// `nil` for every scheme that the loader allows.
    var redirectSchemes: SchemeFilter?
    /// How many redirects are followed; `nil` for no limit.
    var redirectLimit: Int?
    var timeCondition: TimeCondition?
    /// Whether the request has a condition about the resource's tag (`--etag-compare`).
    var hasTagCondition = false
    /// Whether a redirect sends the URL that redirects as `Referer`.
    var sendsAutomaticReferrer = false
    /// The statuses of redirects after which a POST request is repeated.
    var codesThatRepeatPost: Set<Int> = []
    /// The file of `--etag-save`.
    var savedTagFile: String?

    /// Saves the entity tag of a successful response, or of a response with the status 304. If the response has no tag,
    /// creates an empty file unless the file exists.
    func saveTag(of response: Response) throws(Failure) {
        guard let savedTagFile, let status = response.status, status.kind == .successful || status == .notModified else { return }
        guard let tag = response.fields[.eTag], !tag.isEmpty else {
            if FileSystem.kind(at: savedTagFile) == nil { try PartialFile.writeForCommand([], to: savedTagFile) }
            return
        }
        try PartialFile.writeForCommand(Array("\(tag)\n".utf8), to: savedTagFile)
    }

    /// Whether the body is not written, because the condition of `--etag-compare` or `-z` does not hold. A file of `-o`
    /// keeps its contents.
    func discardsBody(of response: Response) -> Bool {
        if hasTagCondition, response.status == .notModified { return true }
        return timeCondition?.isUnmet(by: response) == true
    }

    /// Changes the request to which a response redirects.
    func adapt(_ request: inout Request, from previous: Request, after response: Response) {
        guard !response.isHSTSUpgrade else { return }
        if sendsAutomaticReferrer { request.fields[.referer] = previous.url.withoutCredentials.beforeFragment }
        if previous.method == .post, request.method == .get, let code = response.status?.code, codesThatRepeatPost.contains(code) {
            (request.method, request.body) = (.post, previous.body)
            for name in Request.bodyFields { request.fields[name] = previous.fields[name] }
        }
    }
}

extension URLRecord {
    /// The URL without its fragment, as text.
    fileprivate var beforeFragment: String { String(string.prefix { $0 != "#" }) }
}
