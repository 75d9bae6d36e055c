// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Portolan
import PortolanJSON

/// A trace in the words of `get --json`, with the time of day at which each load began.
enum TraceJSON {
    static func value(of trace: Trace) -> JSONValue {
        ["creator": ["name": "Portolan", "version": .string(portolanVersion)], "loads": .array(trace.loads.map(value))]
    }

    private static func value(of load: TracedLoad) -> JSONValue {
        [
            "began": .string(load.began.timestamp), "events": .array(load.events.map(value)),
            "lostEvents": .integer(load.lostEvents),
        ]
    }

    private static func value(of happening: TracedLoad.Happening) -> JSONValue {
        switch happening.what {
        case .event(let event): EventLines.line(for: event, at: happening.time)
        case .data(let kept, let count):
            EventLines.line("data", happening.time, ["bytes": .integer(count), "base64": .string(Data(kept).base64EncodedString())])
        }
    }
}
