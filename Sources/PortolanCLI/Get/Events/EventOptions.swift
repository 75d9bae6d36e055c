// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The option that reads a stream of events instead of a body.
struct EventOptions: ParsableArguments {
    @Flag(
        name: .customLong("sse"),
        help:
            "Read server-sent events, and reconnect until the server ends the stream. Print the data of each event on a line, or with --events the whole event as JSON."
    )
    var readsEvents = false
}
