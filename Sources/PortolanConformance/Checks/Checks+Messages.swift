// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins

/// What a load gives, judged by itself, and from where it does: the first checks of THREAD, REDIR, CACHE and SEC.
extension ConformanceCheck {
    static let messages: [ConformanceCheck] = [
        eachLoad("THREAD-01") { record in
            let outside = record.calls.first { $0.within == nil && !$0.call.isForAnyThread && $0.stage < .destroyed }
            return outside.map { ["\($0.call.function) was called on a thread that was in no function of the load"] } ?? []
        },
        eachLoad("REDIR-01", .redirects) { record in
            record.calls.compactMap { call in
                guard case .redirect(let change, _) = call.call, let url = change.value?.url else { return nil }
                // `try?` because only whether it parses is asked.
                let parses = url.text.map { (try? URLRecord(parsing: $0)) != nil } ?? false
                return parses ? nil : "it is redirected to \(url.quoted), which is no absolute URL"
            }
        },
        eachLoad("CACHE-01") { record in
            record.responses.compactMap(\.value).filter { !(0...2).contains($0.storage) }.map { "the storage policy is \($0.storage)" }
        },
        eachLoad("SEC-08") { record in
            let ofResponses = record.calls.flatMap { call -> [GivenField] in
                switch call.call {
                case .interim(let response), .response(let response): response.value?.fields ?? []
                case .redirect(let change, let response): (change.value?.fields ?? []) + (response.value?.fields ?? [])
                case .trailers(let fields): fields ?? []
                default: []
                }
            }
            // A text that can't be read is DESC-05's.
            return ofResponses.compactMap { field in
                if !field.name.isUnreadable, field.name.text.flatMap({ HTTPField.Name($0) }) == nil {
                    return "the name of a field is \(field.name.quoted)"
                }
                let isValid = field.value.isUnreadable || HTTPField.isValidValue(field.value.bytes ?? [])
                return isValid ? nil : "the value of the field \(field.name.quoted) is \(field.value.quoted)"
            }
        },
    ]
}
