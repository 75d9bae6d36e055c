// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import PortolanCoding

/// The list of codings in the Content-Encoding field.
@Suite struct ContentCodingTests {
    @Test(
        arguments: [
            ([], []), ([""], []), (["gzip"], ["gzip"]), (["GZip"], ["gzip"]), ([" gzip\t,  br "], ["gzip", "br"]),
            (["identity"], []), (["identity, gzip,Identity"], ["gzip"]), ([",, ,gzip,"], ["gzip"]),
            (["deflate", "gzip"], ["deflate", "gzip"]),
            (["gzip;q=1"], ["gzip;q=1"]), (["x gzip"], ["x gzip"]),
        ] as [([String], [String])])
    func contentEncodingListIsParsed(values: [String], codingNames: [String]) {
        var fields = HTTPFields()
        fields[values: .contentEncoding] = values
        #expect(fields.contentCodings == codingNames)
    }
}
