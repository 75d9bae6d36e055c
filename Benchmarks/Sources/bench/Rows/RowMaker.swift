// SPDX-License-Identifier: Apache-2.0

/// A row that can be measured, by name: what it needs is made when it is its turn.
struct RowMaker: Sendable {
    let name: String
    let summary: String
    let make: @Sendable (Workshop) throws -> Row

    /// In the order of the table.
    static let all = [
        RowMaker(name: "data-8MiB", summary: "data: with 8 MiB in base64, data(from:)", make: DataRows.large),
        RowMaker(name: "data-tiny", summary: "data:,Hello, data(from:)", make: DataRows.tiny),
        RowMaker(name: "file-1GiB", summary: "file: 1 GiB, streamed to a delegate", make: FileRow.make),
        RowMaker(name: "registry-10", summary: "look-up among 10 handlers with schemes", make: RegistryRows.ofTen),
        RowMaker(name: "registry-10000", summary: "look-up among 10,000 handlers with schemes", make: RegistryRows.ofTenThousand),
        RowMaker(name: "boundary-event", summary: "an event of 64 bytes from a C plugin to a delegate", make: BoundaryRows.event),
        RowMaker(name: "boundary-bulk", summary: "events of 1 MiB from a C plugin to a delegate", make: BoundaryRows.bulk),
        RowMaker(name: "gzip", summary: "gzip:file: 128 MiB, through the plugin, streamed", make: GzipRow.make),
        RowMaker(name: "manifests-1000", summary: "start of the command line with 1,000 installed manifests", make: ManifestsRow.make),
    ]

    static let names = all.map(\.name)
}
