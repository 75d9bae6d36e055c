// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Portolan
import PortolanCore
import PortolanJSON

/// Loads a URL after each build of a plugin.
struct WatchRun {
    private let request: Request
    /// The time limit of a load, for plugins that hang.
    private static let timeLimit = Duration.seconds(30)

    init(_ request: Request) {
        var request = request
        request.timeouts.total = Self.timeLimit
        self.request = request
    }

    /// The result of one load.
    struct WatchRunResult {
        let url: String
        let milliseconds: Int64
        let outcome: Result<(Data, Response), LoadError>
    }

    func load(on loader: Loader) -> WatchRunResult {
        let start = MonotonicTime.now
        let outcome: Result<(Data, Response), LoadError>
        do throws(LoadError) {
            outcome = .success(try loader.waitForData(for: request))
        } catch {
            outcome = .failure(error)
        }
        let milliseconds = (MonotonicTime.now - start).nanoseconds / 1_000_000
        return WatchRunResult(
            url: String(request.url.withoutCredentials[.beforeFragment]), milliseconds: milliseconds, outcome: outcome)
    }
}

extension WatchRun.WatchRunResult {
    /// The maximum number of bytes of a body that ``text`` shows.
    private static let bodyLimit = 4096

    /// A line about the response, and the first 4 KiB of the body if it is text. Each line is escaped for a terminal.
    var text: String {
        switch outcome {
        case .failure(let error): return PlainText.line("\(url): \(error.name): \(error.phrase)") + "\n"
        case .success(let (body, response)):
            let status = response.status.map { "\($0.code) " } ?? ""
            let type = response.mimeType?.description ?? "no type"
            let head = "\(url): \(status)\(type), \(String(body.count, of: "byte")) in \(milliseconds) ms"
            var lines = [head]
            if let bodyText = Self.startAsText(of: body) {
                lines += bodyText.split(separator: "\n").map { "    \($0)" }
                if body.count > Self.bodyLimit { lines.append("    … and \(body.count - Self.bodyLimit) more bytes") }
            }
            return lines.map { PlainText.line($0) + "\n" }.joined()
        }
    }

    /// Returns the first 4 KiB of the body as text, without a character that this limit divides; `nil` if the body is
    /// not text.
    private static func startAsText(of body: Data) -> String? {
        let start = body.prefix(bodyLimit)
        for length in stride(from: start.count, through: max(0, start.count - (body.count > bodyLimit ? 3 : 0)), by: -1) {
            if let text = String(validating: start.prefix(length), as: UTF8.self) { return text }
        }
        return nil
    }

    var json: JSONValue {
        var error = JSONValue.null
        var (status, mime, length, text, base64) = (JSONValue.null, JSONValue.null, JSONValue.null, JSONValue.null, JSONValue.null)
        switch outcome {
        case .failure(let failure): error = ["code": .string(failure.name), "message": .string(failure.phrase)]
        case .success(let (body, response)):
            status = .count(response.status?.code)
            mime = .text(response.mimeType?.description)
            length = .count(body.count)
            if let whole = String(validating: body, as: UTF8.self) {
                text = .string(whole)
            } else {
                base64 = .string(body.base64EncodedString())
            }
        }
        return [
            "event": "loaded", "url": .string(url), "status": status, "mime": mime, "length": length, "body": text, "bodyBase64": base64,
            "milliseconds": .count(Int(milliseconds)), "error": error,
        ]
    }
}
