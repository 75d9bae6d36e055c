// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `portolan curl`; `portolan help curl` prints the same.
struct CurlCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "curl", abstract: "Show how 'get' differs from curl.", discussion: text)

    func run() throws {
        SignalHandler.ignoreClosedPipes()
        try StandardOutput.write(Self.text + "\n")
    }

    /// The differences from curl, each with its subject, such as an option.
    static let differences: [(subject: String, difference: String)] = [
        ("redirects", "Up to 20 are followed, and -L has no effect. --no-location writes the response that redirects."),
        (
            "redirects with -X",
            "-X is for the first request. A redirect changes the method by the rules of browsers: GET after 303, except for HEAD, and for POST after "
                + "301 and 302. A method that stays, as PUT after 302, is repeated with its body."
        ),
        ("300, 304, 305", "A response with one of these statuses is no redirect, also with Location."),
        ("Location", "A user name and password in it are not used."),
        (
            "compression",
            "gzip and deflate are requested and decoded. --raw writes the bytes as received; -H 'Accept-Encoding:' requests none."
        ),
        (
            "-o, -O",
            "A file gets its name when it is complete, so a failed load leaves no part of it, and keeps an old file. --remove-on-error has no effect."
        ),
        (
            "-O",
            "One -O is for all URLs. An existing file is not overwritten, unless with --clobber, because its name comes from a URL. Percent codes in "
                + "the name are decoded, and a URL without a name gives the name of its folder, or 'download'."
        ),
        ("-J", "Only together with -O. The name never begins with a dot. Excludes -i and -I."),
        (
            "-C",
            "A file that get -C has begun is continued only if the server has the same version (If-Range); other responses fail with status 33. "
                + "The version of other files is not known, and not checked. A file that is longer than the offset is refused (23). "
                + "-C 0 replaces a file when the new one is complete."
        ),
        (
            "-o, -O",
            "Without -C, the file gets its name when it is complete, and nothing is left after a failure or Ctrl-C. To continue a load later, "
                + "begin it with -C -."
        ),
        ("-r", "With -d or -T, Range is sent, and not Content-Range."),
        ("--create-dirs", "The folders have the permissions that umask allows, and not 0750."),
        ("--limit-rate", "The limit is for all URLs together, also with -Z."),
        (
            "multipart/x-mixed-replace",
            "Each part is a response with a head of its own, also with --raw. -D and -w do not report the head of the whole response."
        ),
        ("-c", "The cookies of the file are also sent, as with -b."),
        (
            "cookies",
            "A domain of the public suffix list, and more than 180 cookies of a host, are refused. Cookies of -b go only to the URL's own server, "
                + "and replace stored ones with their names."
        ),
        (
            "-u",
            "The name and the password need a colon between them; there is no prompt. After a refused password the response is written, and the "
                + "exit status is 67."
        ),
        (
            "-F",
            "Several files for one name are parts of the form with the same name, and not one part with several files (RFC 7578 §4.3). "
                + "A text after a text in quotation marks is an error. The encoder quoted-printable is not supported."
        ),
        (
            "-H",
            "Keep-Alive, Proxy-Connection, Upgrade, HTTP2-Settings, Trailer, and unknown values of Connection and TE are left out with a warning, "
                + "because the program manages its connections itself. A name or a value that no field can have is an error."
        ),
        ("-H Host:", "Host cannot be removed. -H 'Host: NAME' sends another one."),
        (
            "-i, -D",
            "Lines of a head have the form 'Name: value', and fields in several lines are joined. Heads of a proxy's tunnel are not written."
        ),
        (
            "--etag-save",
            "For one URL, and only to a file. The file stays as it is if the response has no ETag or is an error (status 400 or more), or if the "
                + "load fails later."
        ),
        ("--no-clobber", "The numbers of files go up to 9999, and not to 100. A FIFO or a device is written to, and gets no number."),
        ("--anyauth", "Basic, Digest and Bearer. NTLM, Negotiate and AWS signatures are not supported."),
        ("-d @FILE", "If the file does not exist, the exit status is 26, and nothing is sent."),
        ("--raw", "Only content codings are left as they are; chunks are always decoded."),
        ("--retry", "The bodies of the failed attempts are not written."),
        ("-z", "A text that is neither a date nor a file is an error, and not a condition without an effect."),
        (
            "URLs",
            "They are read by the WHATWG URL standard: '\\' is '/', dots in the path are resolved, and characters that a URL cannot have are encoded. "
                + "Brackets without a range and braces without a comma stand for themselves."
        ),
        ("~/.curlrc", "It is not read, so that a command does the same for every user. -K reads a file with options."),
        ("--next", "Each operation has its own connections and cookies."),
        ("several URLs", "The exit status is that of the first URL that failed."),
        ("--json", "As in curl. The events of a load, which --json printed before, are --events."),
        ("HTTP", "A response that violates the standard in a way that can be used for attacks fails with status 8. HTTP/0.9 is not read."),
        (
            "other options",
            "Not supported: --retry-all-errors, --speed-limit, --speed-time, --unix-socket, --interface, --pinnedpubkey, --ciphers, "
                + "--keepalive-time, --expect100-timeout, --path-as-is, --rate, --proxy-header, --create-file-mode, --trace-ascii, --xattr, "
                + "--dns-servers, and those of other protocols."
        ),
        ("schemes", "http, https, data and file, and those of plugins. FTP, mail and the like are not built in."),
        ("-K", "A value in a config file can be in quotation marks. Options that are not known, or lack their value, are an error."),
    ]

    private static var text: String {
        let rows = differences.map { "  \($0.subject)\n\(wrapped($0.difference))" }
        let variables = WriteOutValues.names.joined(separator: ", ")
        return """
            'portolan get' takes options with the names and the meaning of curl's.
            These are the differences:

            \(rows.joined(separator: "\n"))

            The variables of -w:
            \(wrapped("\(variables), header_json, json, onerror, stderr, stdout, url.PART and urle.PART."))
            \(wrapped("%header{name} is a field of the response, and %output{file} writes to a file."))
            \(wrapped("certs, conn_id, ftp_entry_path, http_connect and tls_earlydata have no value."))
            \(wrapped("The size of a download is that of the decoded body."))

            'portolan exit-codes' lists the exit statuses, which have curl's numbers.
            """
    }

    /// Breaks a text into indented lines that fit on a terminal of 80 columns.
    private static func wrapped(_ text: String) -> String {
        var (lines, line) = ([String](), "")
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > 72 {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " \(word)"
        }
        return (lines + [line]).map { "      \($0)" }.joined(separator: "\n")
    }
}
