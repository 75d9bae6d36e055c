// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Testing

@Suite struct LookupTests {
    @Test(arguments: [
        ("Range", "range", true), ("RANGE", "rAnGe", true), ("", "", true), ("a", "", false), ("a", "ab", false), ("[", "{", false),
        ("@", "`", false), ("Ä", "ä", false), ("k", "\u{212A}", false), ("a\0b", "A\0B", true), ("a\0b", "A\0C", false),
    ])
    func caseInsensitiveEqualityFoldsOnlyASCII(a: String, b: String, isEqual: Bool) {
        let result = unsafe withString(a) { a in unsafe withString(b) { b in unsafe portolan_equal_ignoring_case(a, b) } }
        #expect((result == 1) == isEqual)
    }

    @Test(arguments: [("a", "a", true), ("a", "A", false), ("", "", true), ("a", "ab", false)])
    func equalityComparesBytes(a: String, b: String, isEqual: Bool) {
        let result = unsafe withString(a) { a in unsafe withString(b) { b in unsafe portolan_equal(a, b) } }
        #expect((result == 1) == isEqual)
    }

    @Test func absentStringDiffersFromAnEmptyOne() {
        let absent = unsafe portolan_string()
        unsafe withString("") { empty in
            unsafe #expect(portolan_equal(absent, empty) == 0 && portolan_equal_ignoring_case(empty, absent) == 0)
        }
        unsafe #expect(portolan_equal(absent, absent) == 1 && portolan_equal_ignoring_case(absent, absent) == 1)
    }

    /// A `nil` value means that the item is absent.
    @Test(
        arguments: [
            ("a=1", "a", "1"), ("a=1&b=2", "b", "2"), ("a=1&a=2", "a", "1"), ("a", "a", ""), ("a=", "a", ""), ("a&b=1", "b", "1"),
            ("&&a=1&", "a", "1"),
            ("a=b=c", "a", "b=c"), ("ab=1", "a", nil), ("A=1", "a", nil), ("", "a", nil), ("b=a=1", "a", nil), ("a=%41", "a", "%41"),
        ] as [(String, String, String?)])
    func queryItemIsFoundByItsWholeName(query: String, name: String, value: String?) {
        let item = unsafe withString(query) { query in
            unsafe withString(name) { name in unsafe text(portolan_query_item(query, name)) }
        }
        #expect(item == value)
    }

    @Test func firstFieldOfANameIsFoundInAnyCase() {
        unsafe withString("Content-Type") { name in
            unsafe withString("content-type") { lowercaseName in
                unsafe withString("one") { firstValue in
                    unsafe withString("two") { secondValue in
                        let fields = unsafe [portolan_field(name: name, value: firstValue), portolan_field(name: name, value: secondValue)]
                        unsafe fields.withUnsafeBufferPointer { fields in
                            let result = unsafe portolan_find_field(fields.baseAddress, fields.count, lowercaseName)
                            unsafe #expect(result.flatMap { unsafe text($0.pointee.value) } == "one")
                            unsafe #expect(portolan_find_field(fields.baseAddress, fields.count, firstValue) == nil)
                        }
                        unsafe #expect(portolan_find_field(nil, 0, lowercaseName) == nil)
                    }
                }
            }
        }
    }

    @Test func propertyIsFoundByItsExactName() {
        unsafe withString("limits.depth") { name in
            unsafe withString("Limits.depth") { otherCaseName in
                var property = unsafe portolan_property()
                unsafe property.name = unsafe name
                unsafe property.kind = PORTOLAN_KIND_INTEGER
                unsafe property.integer = 7
                let properties = unsafe [portolan_property(), property]
                unsafe properties.withUnsafeBufferPointer { properties in
                    let result = unsafe portolan_find_property(properties.baseAddress, properties.count, name)
                    unsafe #expect(result.map { unsafe $0.pointee.integer } == 7)
                    unsafe #expect(portolan_find_property(properties.baseAddress, properties.count, otherCaseName) == nil)
                }
                unsafe #expect(portolan_find_property(nil, 0, name) == nil)
            }
        }
    }

    private func text(_ string: portolan_string) -> String? {
        guard let bytes = unsafe string.bytes else { return nil }
        return unsafe String(decoding: UnsafeRawBufferPointer(start: bytes, count: string.length), as: UTF8.self)
    }
}
