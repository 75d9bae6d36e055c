// SPDX-License-Identifier: Apache-2.0

import Portolan

/// The interpretation of a response.
struct ResponseMeaning: Equatable {
    /// The statuses of the interim responses.
    var interim: [Int] = []
    var status = 0
    var fields: [[String]] = []
    var body: [UInt8] = []
    var trailers: [[String]] = []
    /// Whether the connection can serve another request.
    var isReusable = false
    /// Whether the end of the connection is the end of the body.
    var endsAtClose = false
    /// The length of the response in bytes, including interim responses.
    var byteCount = 0
}

enum ResponseOutcome: Equatable, Error {
    case response(ResponseMeaning)
    case failure(LoadError.Code)
}
