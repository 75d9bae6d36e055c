// SPDX-License-Identifier: Apache-2.0

package import CPortolan
import HTTPTypes
package import PortolanCore

extension CStorage<portolan_response> {
    /// Encodes a response for a plugin: a stored one, or that of a nested load.
    package init(_ response: Response, storage: CacheStoragePolicy) {
        unsafe self.init { arena in
            var image = unsafe portolan_response()
            unsafe image.size = UInt32(MemoryLayout<portolan_response>.size)
            unsafe image.status = Int32(response.status?.code ?? 0)
            unsafe image.url = arena.string(response.url.description)
            unsafe image.mime_type = arena.string(response.mimeType?.essence)
            unsafe image.text_encoding = arena.string(response.textEncodingName)
            unsafe image.suggested_name = arena.string(response.suggestedFilename)
            unsafe image.expected_length = response.expectedLength ?? -1
            unsafe (image.fields, image.field_count) = arena.list(response.fields)
            unsafe image.storage = portolan_storage(storage)
            return unsafe image
        }
    }
}

extension portolan_storage {
    fileprivate init(_ storage: CacheStoragePolicy) {
        switch storage {
        case .notAllowed: self = PORTOLAN_STORE_NOT
        case .allowedInMemoryOnly: self = PORTOLAN_STORE_IN_MEMORY
        case .allowed: self = PORTOLAN_STORE
        }
    }
}

extension CStorage<portolan_error> {
    /// One fewer than the host keeps, so that no cause is lost if the plugin uses this error as a cause.
    private static let causeLimit = LoadError.causeLimit - 1

    /// Encodes an error with its causes for a plugin.
    ///
    /// Each message is one line. If there are too many causes, those in the middle are left out; the last one says what
    /// happened and how many are missing.
    package init(_ error: LoadError) {
        unsafe self.init { unsafe Self.image(of: error, in: &$0) }
    }

    package static func image(of error: LoadError, in arena: inout CArena) -> portolan_error {
        var below: UnsafePointer<portolan_error>?
        for cause in unsafe error.causes(atMost: causeLimit).reversed() {
            let place = unsafe arena.reserve(portolan_error.self, count: 1)
            let image = unsafe image(of: LoadError.asLoadError(cause), above: below, in: &arena)
            unsafe place?.initialize(to: image)
            unsafe below = place.map { unsafe UnsafePointer($0) }
        }
        return unsafe image(of: error, above: below, in: &arena)
    }

    private static func image(
        of error: LoadError, above cause: UnsafePointer<portolan_error>?, in arena: inout CArena
    ) -> portolan_error {
        var image = unsafe portolan_error()
        unsafe image.size = UInt32(MemoryLayout<portolan_error>.size)
        unsafe image.code = error.code.rawValue
        unsafe image.domain = arena.string(error.domain)
        unsafe image.message = arena.string(Text.oneLine(error.message.isEmpty ? "no reason was given" : error.message))
        unsafe image.cause = unsafe cause
        return unsafe image
    }
}

extension LoadError {
    fileprivate static func asLoadError(_ error: any Error) -> LoadError {
        error as? LoadError ?? LoadError(.unknown, message: String(describing: error))
    }
}
