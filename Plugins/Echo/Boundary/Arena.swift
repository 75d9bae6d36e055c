// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// Memory for what is lent to the host during one call. It is freed with the arena.
@safe
final class Arena {
    private var blocks: [UnsafeMutableRawPointer] = unsafe []

    deinit {
        for index in unsafe blocks.indices { unsafe blocks[index].deallocate() }
    }

    /// `nil` gives an absent string.
    func string(_ text: String?) -> portolan_string {
        guard let text else { return unsafe portolan_string() }
        return unsafe string(bytes: Array(text.utf8))
    }

    private func string(bytes: [UInt8]) -> portolan_string {
        // One more than the bytes, for an empty text is not an absent one.
        let block = unsafe take(byteCount: bytes.count + 1, alignment: 1)
        unsafe UnsafeMutableRawBufferPointer(start: block, count: bytes.count).copyBytes(from: bytes)
        return unsafe portolan_string(bytes: UnsafePointer(block.assumingMemoryBound(to: CChar.self)), length: bytes.count)
    }

    func fields(_ fields: [Field]) -> UnsafePointer<portolan_field>? {
        guard !fields.isEmpty else { return nil }
        typealias Layout = MemoryLayout<portolan_field>
        let block = unsafe take(byteCount: fields.count * Layout.stride, alignment: Layout.alignment)
        let list = unsafe block.bindMemory(to: portolan_field.self, capacity: fields.count)
        for (index, field) in fields.enumerated() {
            // Beyond U+00FF there is no byte; the parser of fields lets nothing such pass.
            let value = field.value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
            unsafe (list + index).initialize(to: portolan_field(name: string(field.name), value: string(bytes: value)))
        }
        return unsafe UnsafePointer(list)
    }

    func response(_ response: Response) -> portolan_response {
        var lent = unsafe portolan_response()
        unsafe lent.size = UInt32(MemoryLayout<portolan_response>.size)
        unsafe lent.status = response.status
        unsafe lent.mime_type = string(response.type)
        unsafe lent.text_encoding = string(response.charset)
        unsafe lent.suggested_name = string(response.name)
        unsafe lent.expected_length = response.length ?? -1
        unsafe lent.fields = fields(response.fields)
        unsafe lent.field_count = response.fields.count
        return unsafe lent
    }

    func error(_ failure: Failure) -> portolan_error {
        var lent = unsafe portolan_error()
        unsafe lent.size = UInt32(MemoryLayout<portolan_error>.size)
        unsafe lent.code = failure.code.rawValue
        unsafe lent.domain = string(failure.domain)
        unsafe lent.message = string(failure.message)
        return unsafe lent
    }

    private func take(byteCount: Int, alignment: Int) -> UnsafeMutableRawPointer {
        let block = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: alignment)
        unsafe blocks.append(block)
        return unsafe block
    }
}
