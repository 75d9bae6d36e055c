// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension Loader.Configuration {
    /// Returns the request with those default fields whose names it does not have.
    func addingDefaultFields(to request: Request) -> Request {
        guard !defaultFields.isEmpty else { return request }
        let ownFields = request.fields
        let missingFields = defaultFields.filter { !ownFields.contains($0.name) }
        guard !missingFields.isEmpty else { return request }
        var request = request
        for field in missingFields { request.fields.append(field) }
        return request
    }
}
