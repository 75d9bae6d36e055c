// SPDX-License-Identifier: Apache-2.0

package import CPortolan
package import HTTPTypes
package import PortolanCore

extension CStorage<portolan_request> {
    /// Encodes a request for a plugin.
    init(_ request: Request) {
        unsafe self.init { unsafe portolan_request(request, in: &$0) }
    }
}

extension portolan_request {
    /// Encodes a request, with its parts in `arena`.
    package init(_ request: Request, in arena: inout CArena) {
        unsafe self.init()
        unsafe size = UInt32(MemoryLayout<portolan_request>.size)
        unsafe method_is_safe = request.method.isSafe ? 1 : 0
        unsafe arena.encode(request.url, into: &self)
        unsafe cache_policy = portolan_cache_policy(request.cachePolicy)
        unsafe method = arena.string(request.method.rawValue)
        unsafe (fields, field_count) = arena.list(request.fields)
        unsafe (properties, property_count) = arena.list(request.properties)
        unsafe body_length = request.body.map { $0.length ?? -1 } ?? 0
        unsafe timeout_ms = request.timeouts.idle.map(Self.milliseconds) ?? 0
        unsafe main_document = arena.string(request.mainDocumentURL?.description)
        unsafe priority = request.priority.rawValue
        unsafe service = portolan_service(request.networkServiceType)
    }

    /// The duration in milliseconds; at least 1, because 0 means no limit.
    private static func milliseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? .max : max(1, product &+ attoseconds / 1_000_000_000_000_000)
    }
}

extension CArena {
    fileprivate mutating func encode(_ url: URLRecord, into cRequest: inout portolan_request) {
        unsafe cRequest.url = string(url.string)
        unsafe cRequest.scheme = string(url, .scheme)
        if url.hasCredentials { unsafe cRequest.user = string(url, .username) }
        if !url.password.isEmpty { unsafe cRequest.password = string(url, .password) }
        if url.host != nil { unsafe cRequest.host = string(url, .host) }
        unsafe cRequest.path = string(url, .path)
        if url.query != nil { unsafe cRequest.query = string(url, .query) }
        if url.fragment != nil { unsafe cRequest.fragment = string(url, .fragment) }
        unsafe cRequest.port = url.port.map(Int32.init) ?? -1
    }

    private mutating func string(_ url: URLRecord, _ component: URLRecord.Component) -> portolan_string {
        var result = unsafe portolan_string()
        url.withUTF8(of: component) { unsafe result = string($0.bytes) }
        return unsafe result
    }

    package mutating func list(_ fields: HTTPFields) -> (UnsafePointer<portolan_field>?, Int) {
        unsafe list(fields) { field, arena in
            let name = unsafe arena.string(field.name.rawName)
            let value = unsafe field.withUnsafeBytesOfValue { unsafe arena.string($0.span.bytes) }
            return unsafe portolan_field(name: name, value: value)
        }
    }

    mutating func list(_ properties: RequestProperties) -> (UnsafePointer<portolan_property>?, Int) {
        unsafe list(properties.names) { name, arena in
            unsafe arena.property(name, properties[name])
        }
    }

    package mutating func property(_ name: String, _ value: PropertyValue?) -> portolan_property {
        var property = unsafe portolan_property()
        unsafe property.name = string(name)
        switch value {
        case .text(let text): unsafe (property.kind, property.bytes) = (PORTOLAN_KIND_TEXT, string(text))
        case .bytes(let bytes): unsafe (property.kind, property.bytes) = (PORTOLAN_KIND_BYTES, string(bytes))
        case .integer(let integer): unsafe (property.kind, property.integer) = (PORTOLAN_KIND_INTEGER, integer)
        case .real(let real): unsafe (property.kind, property.real) = (PORTOLAN_KIND_REAL, real)
        case .boolean(let boolean): unsafe (property.kind, property.integer) = (PORTOLAN_KIND_TRUTH, boolean ? 1 : 0)
        case nil: break
        }
        return unsafe property
    }
}

// Swift and C have different raw values for these enumerations.

extension portolan_cache_policy {
    fileprivate init(_ policy: CachePolicy) {
        switch policy {
        case .useProtocol: self = PORTOLAN_CACHE_USE_PROTOCOL
        case .reload: self = PORTOLAN_CACHE_RELOAD
        case .noStore: self = PORTOLAN_CACHE_NO_STORE
        case .revalidate: self = PORTOLAN_CACHE_REVALIDATE
        case .preferCached: self = PORTOLAN_CACHE_RETURN_CACHED_ELSE_LOAD
        case .onlyCached: self = PORTOLAN_CACHE_ONLY_CACHED
        }
    }
}

extension portolan_service {
    fileprivate init(_ type: NetworkServiceType) {
        switch type {
        case .standard: self = PORTOLAN_SERVICE_DEFAULT
        case .background: self = PORTOLAN_SERVICE_BACKGROUND
        case .video: self = PORTOLAN_SERVICE_VIDEO
        case .voice: self = PORTOLAN_SERVICE_VOICE
        case .responsiveData: self = PORTOLAN_SERVICE_RESPONSIVE
        }
    }
}
