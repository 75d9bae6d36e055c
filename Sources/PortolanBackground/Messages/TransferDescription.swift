// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import HTTPTypes
    import PortolanCore
    import PortolanDownloads
    import PortolanFileSystem
    import PortolanURL

    /// What to transfer: the part of a request that can be stored, and the files.
    struct TransferDescription: Codable, Hashable, Sendable {
        var kind: BackgroundTransfer.Kind
        /// With user name and password, if the request has them.
        var url: String
        var method: String
        /// Pairs of name and value.
        var fields: [[String]]
        /// The time limits in seconds.
        var idleTimeout: Double?
        var totalTimeout: Double?
        /// The absolute path of the file that is sent or written.
        var path: String
        /// Where the response of an upload is written; `nil` for nowhere.
        var responsePath: String?
        /// `replace`, `fail` or `keepBoth`
        var existingFile: String
        /// The file mode creation mask of the program that has added the transfer (umask(2)); the service has another.
        var umask: UInt32?
        /// Whether the transfer may wait until the machine is on mains power.
        var isDiscretionary: Bool
        /// Answers challenges for a password.
        var user: String?
        var password: String?

        private static let limits = (url: 64 << 10, fields: 256, fieldBytes: 64 << 10, path: 4096, text: 4096)

        /// Checks the values, which can come from another program or from the journal.
        func check() throws(LoadError) {
            func refuse(_ problem: String) -> LoadError { LoadError(.badRequest, message: "the transfer can't be added: \(problem)") }
            let size = fields.reduce(0) { $0 + $1.reduce(0) { $0 + $1.utf8.count } }
            guard url.utf8.count <= Self.limits.url else { throw refuse("the URL is longer than \(Self.limits.url) bytes") }
            guard fields.count <= Self.limits.fields, size <= Self.limits.fieldBytes else { throw refuse("it has too many header fields") }
            guard [user, password].allSatisfy({ ($0?.utf8.count ?? 0) <= Self.limits.text }) else {
                throw refuse("the user name or the password is longer than \(Self.limits.text) bytes")
            }
            for path in [path, responsePath].compactMap(\.self) {
                guard path.hasPrefix("/"), path.utf8.count < Self.limits.path, !path.utf8.contains(0) else {
                    throw refuse("\(QuotedText(path)) is not an absolute path")
                }
            }
            guard Self.existingFiles[existingFile] != nil else {
                throw refuse("\(QuotedText(existingFile)) does not say what to do with an existing file")
            }
            guard umask ?? 0 <= 0o777 else { throw refuse("\(umask ?? 0) is no file mode creation mask") }
            guard [idleTimeout, totalTimeout].allSatisfy({ $0.map { $0 > 0 && $0 < 1e9 } ?? true }) else {
                throw refuse("a time limit is not positive")
            }
            if kind == .download, HTTPRequest.Method(method) != .get {
                throw refuse("a download has the method GET, and not \(QuotedText(method))")
            }
            _ = try request()
        }

        static let existingFiles: [String: DownloadDestination.ExistingFile] = ["replace": .replace, "fail": .fail, "keepBoth": .keepBoth]

        /// The request without its body.
        func request() throws(LoadError) -> Request {
            func refuse(_ problem: String) -> LoadError { LoadError(.badRequest, message: "the transfer can't be made: \(problem)") }
            guard let method = HTTPRequest.Method(method) else { throw refuse("\(QuotedText(method)) is not a method") }
            var request = try Request(url)
            request.method = method
            for line in fields {
                guard line.count == 2, let name = HTTPField.Name(line[0]), HTTPField.isValidValue(line[1]) else {
                    throw refuse("\(QuotedText(line.first ?? "")) is not a header field")
                }
                request.fields.append(HTTPField(name: name, value: line[1]))
            }
            if let idleTimeout { request.timeouts.idle = .seconds(idleTimeout) }
            if let totalTimeout { request.timeouts.total = .seconds(totalTimeout) }
            return request
        }

        /// Whether it may contain a password or a token.
        var hasSecrets: Bool { user != nil || !fields.isEmpty || url.utf8.contains { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "?") } }

        /// Whether the server may receive the request twice (RFC 9110 §9.2.2).
        var canBeRepeated: Bool { HTTPRequest.Method(method)?.isIdempotent ?? false }

        /// Where a download, or the response of an upload, is written; `nil` for nowhere.
        var destination: DownloadDestination? {
            writtenPath.map { .file($0, existingFile: Self.existingFiles[existingFile] ?? .fail, partialFile: .always) }
        }

        /// The absolute path of the file that the transfer writes; `nil` if it writes none.
        var writtenPath: String? { kind == .download ? path : responsePath }

        /// The transfer with this description, before it begins.
        func transfer(_ id: Int64, session: String) -> BackgroundTransfer {
            // `try?` because the description was checked.
            let shown = (try? URLRecord(parsing: url))?.withoutCredentials.string ?? "?"
            return BackgroundTransfer(id: id, session: session, kind: kind, url: shown, method: method, path: path)
        }
    }

    /// What the journal knows of a transfer, in addition to its description.
    struct TransferStatus: Codable, Hashable, Sendable {
        var transfer: BackgroundTransfer
        /// When it was added or resumed, in seconds since 1970.
        var added: Double
        /// When it ended, in seconds since 1970; 0 before.
        var ended: Double = 0
        /// How often it was resumed after its end. The number is a part of the ``EndIdentifier``.
        var round = 0
        /// Whether it waits because the system has no network.
        var lacksNetwork = false
        /// The complete file, from just before its rename to the final name until the end of the transfer.
        var movingFile: FileIdentity?
        /// Whether bytes of a request whose method is not idempotent may have been sent.
        var hasBegun = false

        /// Whether the numbers are in the ranges that the service writes. Another program can change the journal.
        var isValid: Bool {
            let (times, counts) = (0...1e11, 0...1_000_000_000)
            return [added, ended, transfer.nextAttempt ?? 0].allSatisfy(times.contains) && counts ~= round && counts ~= transfer.failures
                && transfer.bytes >= 0 && transfer.expectedBytes ?? 0 >= 0
        }
    }
#endif
