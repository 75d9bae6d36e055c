// SPDX-License-Identifier: Apache-2.0

import Portolan

/// The interpretation of a response.
struct ResponseMeaning: Equatable {
    var interim: [Int] = []
    var status = 0
    var fields: [[String]] = []
    var body: [UInt8] = []
    var trailers: [[String]] = []
    var isReusable = false
    var endsAtClose = false
    var byteCount = 0
}

enum ResponseOutcome: Equatable, Error {
    case response(ResponseMeaning)
    case failure(LoadError.Code)
}
