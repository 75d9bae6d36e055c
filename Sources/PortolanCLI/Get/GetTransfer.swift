// SPDX-License-Identifier: Apache-2.0

/// One URL of `get`, and where its body goes.
struct GetTransfer: Sendable {
    /// The URL as it was given, with the parts of a pattern filled in.
    let url: String
    let target: OutputTarget
    /// The file of `-T`; `nil` for none.
    let uploadedFile: String?
    /// The position of the URL among those of the command, from 0.
    let number: Int
}

/// The reports of `get` that all loads share.
struct GetReports: Sendable {
    let trace: TraceFile?
    let headDump: HeadDump?
    let writeOut: WriteOutFormat?
}
