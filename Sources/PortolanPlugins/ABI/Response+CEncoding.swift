// SPDX-License-Identifier: Apache-2.0

package import CPortolan
import HTTPTypes
package import PortolanCore

extension CStorage<portolan_response> {
    /// Encodes a response for a plugin: a stored response, or the response of a nested load.
    package init(_ response: Response, storage: CacheStoragePolicy) {
        unsafe self.init { unsafe portolan_response(response, storage: storage, in: &$0) }
    }
}

extension portolan_response {
    package init(_ response: Response, storage: CacheStoragePolicy, in arena: inout CArena) {
        unsafe self.init()
        unsafe size = UInt32(MemoryLayout<portolan_response>.size)
        unsafe status = Int32(response.status?.code ?? 0)
        unsafe url = arena.string(response.url.string)
        unsafe mime_type = arena.string(response.mimeType?.essence)
        unsafe text_encoding = arena.string(response.textEncodingName)
        unsafe suggested_name = arena.string(response.suggestedFilename)
        unsafe (expected_length, has_length) = (response.expectedLength ?? -1, response.expectedLength == nil ? 0 : 1)
        unsafe (fields, field_count) = arena.list(response.fields)
        unsafe self.storage = portolan_storage(storage)
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
    /// The maximum number of causes: one fewer than an error can have, so that all causes are kept if the plugin uses
    /// this error as a cause.
    private static let causeLimit = LoadError.causeLimit - 1

    /// Encodes an error with its causes for a plugin.
    ///
    /// Each message is one line. If there are too many causes, those in the middle are omitted. The message of the last
    /// cause then starts with their number.
    package init(_ error: LoadError) {
        unsafe self.init { unsafe Self.encode(error, in: &$0) }
    }

    package static func encode(_ error: LoadError, in arena: inout CArena) -> portolan_error {
        var cCause: UnsafePointer<portolan_error>?
        for cause in unsafe error.causes(atMost: causeLimit).reversed() {
            let memory = unsafe arena.reserve(portolan_error.self, count: 1)
            let cError = unsafe encode(LoadError.asLoadError(cause), cause: cCause, in: &arena)
            unsafe memory?.initialize(to: cError)
            unsafe cCause = memory.map { unsafe UnsafePointer($0) }
        }
        return unsafe encode(error, cause: cCause, in: &arena)
    }

    private static func encode(
        _ error: LoadError, cause: UnsafePointer<portolan_error>?, in arena: inout CArena
    ) -> portolan_error {
        var cError = unsafe portolan_error()
        unsafe cError.size = UInt32(MemoryLayout<portolan_error>.size)
        unsafe cError.code = error.code.rawValue
        unsafe cError.domain = arena.string(error.domain)
        unsafe cError.message = arena.string(Text.oneLine(error.message.isEmpty ? "no reason was given" : error.message))
        unsafe cError.cause = unsafe cause
        return unsafe cError
    }
}

extension LoadError {
    fileprivate static func asLoadError(_ error: any Error) -> LoadError {
        error as? LoadError ?? LoadError(.unknown, message: String(describing: error))
    }
}
