// SPDX-License-Identifier: Apache-2.0

/// The arguments of `get`, prepared for the argument parser. The parser does not support the parts of curl's syntax in
/// which the order of arguments matters.
///
/// `--next` separates operations. The options of a config file (`-K`) replace the option that names it, and the lines
/// of a file replace `-H @FILE`. `--no-NAME` withdraws a flag. If different options form one list, such as
/// `-d a --data-raw b`, one hidden option replaces them, so that their order stays known.
struct GetArguments {
    /// The arguments of each operation. There is at least one operation.
    let operations: [[String]]
    /// Warnings about the config files.
    let warnings: [String]

    /// - Throws: ``Failure`` if a file of `-K` or `-H` cannot be read or parsed, if config files nest too deeply, or if
    ///   the value of an option is missing.
    init(_ arguments: [String]) throws(Failure) {
        var tokens: [ArgumentToken] = []
        var warnings: [String] = []
        for token in ArgumentToken.tokens(of: arguments) {
            // The argument parser would take a URL as the value.
            if let name = token.nameOfOptionWithoutValue {
                throw Failure(.usage, "Missing value for '\(name)' (see 'portolan help get')")
            }
            try Self.expand(token, into: &tokens, &warnings, depth: 0)
        }
        self.warnings = warnings
        var global: [ArgumentToken] = []
        operations = tokens.split(separator: .option("--next", nil), omittingEmptySubsequences: false).map { operation in
            let arguments = Self.arguments(of: global + Self.removingNegatedFlags(from: operation))
            global += operation.filter { Self.globalOptions.contains($0.name ?? "") }
            return arguments
        }
    }

    /// The options that hold for their own operation and all later ones.
    private static let globalOptions: Set<String> = [
        "-v", "--verbose", "-s", "--silent", "-S", "--show-error", "--stderr", "--no-progress-meter", "--fail-early", "-Z", "--parallel",
        "--parallel-max", "--plugin", "--setting", "--no-plugins", "--keep-secrets", "--trace",
    ]

    // MARK: Files of arguments

    /// The maximum length of a chain of config files that name each other.
    private static let configDepthLimit = 8
    private static let fileSizeLimit = 16 << 20

    private static func expand(
        _ token: ArgumentToken, into tokens: inout [ArgumentToken], _ warnings: inout [String], depth: Int
    ) throws(Failure) {
        switch token {
        case .option("-K", let path?), .option("--config", let path?):
            guard depth < configDepthLimit else {
                throw Failure(.usage, "-K: config files are nested more than \(configDepthLimit) deep; nest fewer")
            }
            for token in try ConfigFile.tokens(of: text(of: path, option: "-K"), path: path, warn: { warnings.append($0) }) {
                try expand(token, into: &tokens, &warnings, depth: depth + 1)
            }
        case .option("-H", let value?) where value.hasPrefix("@"), .option("--header", let value?) where value.hasPrefix("@"):
            for line in try text(of: String(value.dropFirst()), option: "-H").split(whereSeparator: \.isNewline) {
                tokens.append(.option("-H", String(line)))
            }
        case .option("--url", let url?): tokens.append(.argument(url))
        // No config file is read unless -K names it, so there is nothing to turn off.
        case .option("-q", nil), .option("--disable", nil): break
        default: tokens.append(token)
        }
    }

    private static func text(of path: String, option: String) throws(Failure) -> String {
        let bytes = try InputFile(option: option, path: path).wholeStream(limit: fileSizeLimit, within: nil)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure(.unreadable, "\(option): '\(path)' is not UTF-8; save it in that encoding")
        }
        return text
    }

    // MARK: Flags

    /// Applies `--no-NAME`: removes the flag NAME before it.
    private static func removingNegatedFlags(from tokens: ArraySlice<ArgumentToken>) -> [ArgumentToken] {
        guard tokens.contains(where: { $0.name?.hasPrefix("--no-") == true }) else { return Array(tokens) }
        let flags = GetCommand.flagNames
        var kept: [ArgumentToken] = []
        for token in tokens {
            guard case .option(let name, nil) = token, name.hasPrefix("--no-"), !flags.contains(where: { $0.contains(name) }),
                let names = flags.first(where: { $0.contains("--" + name.dropFirst(5)) })
            else {
                kept.append(token)
                continue
            }
            kept.removeAll { $0.name.map(names.contains) == true }
        }
        return kept
    }

    // MARK: Order

    /// Options whose values form one list, and the hidden option for that list.
    private struct OrderedOptions {
        let hiddenOption: String
        /// The kind of each option's value, as the hidden option names it.
        let kinds: [String: String]
    }

    private static let orderedOptions = [
        OrderedOptions(
            hiddenOption: "--ordered-data",
            kinds: [
                "-d": "data", "--data": "data", "--data-ascii": "data", "--data-binary": "binary", "--data-raw": "raw",
                "--data-urlencode": "urlencode", "--json": "json",
            ]),
        OrderedOptions(hiddenOption: "--ordered-form", kinds: ["-F": "form", "--form": "form", "--form-string": "string"]),
        OrderedOptions(
            hiddenOption: "--ordered-output", kinds: ["-o": "file", "--output": "file", "-O": "remote", "--remote-name": "remote"]),
    ]

    private static func arguments(of tokens: [ArgumentToken]) -> [String] {
        var tokens = tokens
        for options in orderedOptions where Set(tokens.compactMap { $0.name.flatMap { options.kinds[$0] } }).count > 1 {
            tokens = tokens.map { token in
                guard case .option(let name, let value) = token, let kind = options.kinds[name], value != nil || kind == "remote" else {
                    return token
                }
                return .option(options.hiddenOption, "\(kind):\(value ?? "")")
            }
        }
        let (options, arguments) = (tokens.filter { $0.name != nil }, tokens.filter { $0.name == nil })
        // A URL can begin with a hyphen if it follows `--` or `--url`.
        let separator = arguments.flatMap(\.arguments).contains { $0.hasPrefix("-") && $0 != "-" } ? ["--"] : []
        return options.flatMap(\.arguments) + separator + arguments.flatMap(\.arguments)
    }
}
