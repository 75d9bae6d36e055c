// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let uploads: [ConformanceRule] = [
        .must(
            "UPLOAD-01", level: 2, needs: .uploads,
            "Every byte of the upload body arrives, in order.",
            because: "If a byte is missing, the file is damaged.",
            remedy: "Read until read_body returns 0."),
        .must(
            "UPLOAD-02", level: 3, needs: .uploads,
            "If the upload body has no data yet, the load waits without a busy loop.",
            because: "The source may be a person who types.",
            remedy: "Return when read_body returns PORTOLAN_WAIT."),
        .must(
            "UPLOAD-03", level: 3, needs: .uploads,
            "If the upload body fails, the load fails with the error of the body.",
            because: "The peer must not keep half a file.",
            remedy: "Return when read_body returns PORTOLAN_STOPPED."),
        .must(
            "UPLOAD-04", level: 2, needs: .uploads,
            "An empty upload body works, with and without a length.",
            because: "Empty files are valid.",
            remedy: "If the first read_body returns 0, treat that as the end."),
        .must(
            "UPLOAD-05", level: 3, needs: .uploads,
            "An upload body of unknown length works, or the load fails with a clear error.",
            because: "Pipes have no length.",
            remedy: "Check whether body_length is -1."),
        .must(
            "UPLOAD-06", level: 3, needs: .uploads,
            "The last total in did_send equals the number of bytes that the load read.",
            because: "Progress bars must reach the end.",
            remedy: "Call did_send after each piece."),
        .must(
            "UPLOAD-07", level: 3, needs: .uploads,
            "If the load has to send the body again, it asks for the body again.",
            because: "The first reading has consumed the body.",
            remedy: "Call rewind_body."),
        .must(
            "UPLOAD-08", level: 4, needs: .uploads,
            "A body of 1 GiB is sent with constant memory.",
            because: "Bodies can be larger than memory.",
            remedy: "Send each piece before you read the next."),
        .must(
            "UPLOAD-09", level: 3, isEnforced: true, needs: .uploads,
            "An upload body with more or fewer bytes than declared is an error.",
            because: "The peer counts the bytes.",
            remedy: "Do nothing. The host compares the numbers, and stops the load at read_body."),
    ]
}
