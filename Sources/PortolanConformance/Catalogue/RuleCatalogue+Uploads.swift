// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let uploads: [ConformanceRule] = [
        .must(
            "UPLOAD-01", level: 2, needs: .uploads,
            "Every byte of the upload body arrives, in order.",
            because: "A missing byte is a broken file.",
            remedy: "Read until read_body says 0."),
        .must(
            "UPLOAD-02", level: 3, needs: .uploads,
            "A body that has nothing yet is waited for without spinning.",
            because: "The source may be a person.",
            remedy: "Return on PORTOLAN_WAIT."),
        .must(
            "UPLOAD-03", level: 3, needs: .uploads,
            "A body that fails makes the load fail with the body's cause.",
            because: "The peer must not keep half a file.",
            remedy: "Return when read_body says PORTOLAN_STOPPED."),
        .must(
            "UPLOAD-04", level: 2, needs: .uploads,
            "An empty body works, with and without a length.",
            because: "Empty files are files.",
            remedy: "Take 0 for the end, at once."),
        .must(
            "UPLOAD-05", level: 3, needs: .uploads,
            "A body of unknown length works, or fails with a clear error.",
            because: "Pipes have no length.",
            remedy: "Look at body_length for -1."),
        .must(
            "UPLOAD-06", level: 3, needs: .uploads,
            "The total sent equals the bytes taken.",
            because: "Progress ends at the end.",
            remedy: "Report did_send after each piece."),
        .must(
            "UPLOAD-07", level: 3, needs: .uploads,
            "A body that must be sent again is asked for again.",
            because: "The first reading has used it up.",
            remedy: "Call rewind_body."),
        .must(
            "UPLOAD-08", level: 4, needs: .uploads,
            "A body of 1 GiB is sent in constant memory.",
            because: "Bodies are larger than memory.",
            remedy: "Send each piece before reading the next."),
        .must(
            "UPLOAD-09", level: 3, isEnforced: true, needs: .uploads,
            "More or fewer bytes than declared is an error.",
            because: "The peer counts.",
            remedy: "Nothing: the host compares, and stops the load at read_body."),
    ]
}
