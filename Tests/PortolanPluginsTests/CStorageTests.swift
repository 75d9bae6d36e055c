// SPDX-License-Identifier: Apache-2.0

import CPortolan
import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanPlugins

/// Values that cross the C boundary, in both directions.
@Suite(.timeLimit(.minutes(2))) struct CStorageTests {
    private func text(_ string: portolan_string) -> String? { unsafe string.text }

    @Test func requestIsPassedWithAllItsParts() throws {
        var request = try Request("Web+X://us%20er:pw@Example.org:81/a/b?q=1#f", method: .put)
        request.fields[.accept] = "text/plain"
        request.fields.append(HTTPField(name: .accept, value: "text/html"))
        request.body = .text("body")
        request.timeouts.idle = .milliseconds(1500)
        request.priority = .high
        request.cachePolicy = .noStore
        request.networkServiceType = .voice
        request.mainDocumentURL = try URLRecord(parsing: "https://example.org/")
        request.properties["org.example.text"] = .text("value")
        request.properties["org.example.truth"] = .boolean(true)
        let storage = unsafe CStorage(request)
        let cRequest = unsafe storage.pointer.pointee
        #expect(unsafe cRequest.size == UInt32(MemoryLayout<portolan_request>.size))
        #expect(unsafe text(cRequest.url) == request.url.string)
        #expect(unsafe text(cRequest.scheme) == "web+x")
        #expect(unsafe text(cRequest.user) == "us%20er")
        #expect(unsafe text(cRequest.password) == "pw")
        #expect(unsafe text(cRequest.path) == "/a/b")
        #expect(unsafe text(cRequest.query) == "q=1")
        #expect(unsafe text(cRequest.fragment) == "f")
        #expect(unsafe cRequest.port == 81)
        #expect(unsafe text(cRequest.method) == "PUT")
        #expect(unsafe cRequest.method_is_safe == 0)
        #expect(unsafe cRequest.cache_policy == PORTOLAN_CACHE_NO_STORE)
        #expect(unsafe cRequest.service == PORTOLAN_SERVICE_VOICE)
        #expect(unsafe cRequest.body_length == 4)
        #expect(unsafe cRequest.timeout_ms == 1500)
        #expect(unsafe cRequest.priority == 100)
        #expect(unsafe text(cRequest.main_document) == "https://example.org/")
        let fields = unsafe UnsafeBufferPointer(start: cRequest.fields, count: cRequest.field_count).map { unsafe text($0.value) }
        #expect(fields == ["text/plain", "text/html"])
        let properties = unsafe UnsafeBufferPointer(start: cRequest.properties, count: cRequest.property_count)
        #expect(unsafe properties.map { unsafe text($0.name) } == ["org.example.text", "org.example.truth"])
        #expect(unsafe properties.map { unsafe $0.kind.rawValue } == [PORTOLAN_KIND_TEXT.rawValue, PORTOLAN_KIND_TRUTH.rawValue])
    }

    @Test func absentPartsDifferFromEmptyOnes() throws {
        let absentParts = unsafe CStorage(try Request("x:y"))
        let emptyParts = unsafe CStorage(try Request("x:?#"))
        #expect(unsafe text(absentParts.pointer.pointee.query) == nil)
        #expect(unsafe text(absentParts.pointer.pointee.host) == nil)
        #expect(unsafe text(absentParts.pointer.pointee.user) == nil)
        #expect(unsafe text(absentParts.pointer.pointee.fragment) == nil)
        #expect(unsafe absentParts.pointer.pointee.port == -1)
        #expect(unsafe absentParts.pointer.pointee.body_length == 0)
        #expect(unsafe text(emptyParts.pointer.pointee.query) == "")
        #expect(unsafe text(emptyParts.pointer.pointee.fragment) == "")
        #expect(unsafe text(emptyParts.pointer.pointee.path) == "")
    }

    @Test func borrowedStringsEndWithNUL() throws {
        let storage = unsafe CStorage(try Request("x:some/path"))
        let path = unsafe storage.pointer.pointee.path
        #expect(unsafe path.bytes?[path.length] == 0)
    }

    @Test func errorRoundTripsWithItsCauses() throws {
        let root = LoadError(LoadError.Code(rawValue: 77), domain: "org.example.tide", message: "deep")
        let error = LoadError(
            .connectionLost, message: "broken", underlyingError: LoadError(.ioFailed, message: "middle", underlyingError: root))
        let storage = unsafe CStorage(error)
        let readError = unsafe try LoadError(reading: storage.pointer)
        #expect(readError == error)
        #expect((readError.underlyingError as? LoadError)?.message == "middle")
        #expect(((readError.underlyingError as? LoadError)?.underlyingError as? LoadError) == root)
    }

    /// Each layer fails with the error of its nested load as the cause. The host passes the error to the next layer.
    @Test func rootCauseIsKeptThroughManyLayers() throws {
        var error = LoadError(.nestedTooDeep, message: "the first")
        for layer in 1...20 {
            let storage = unsafe CStorage(error)
            let message = unsafe CStorage(LoadError(.nestedTooDeep, message: "layer \(layer)"))
            let pointer = unsafe UnsafeMutablePointer(mutating: message.pointer)
            unsafe pointer.pointee.cause = storage.pointer
            error = unsafe try LoadError(reading: message.pointer)
            #expect(error.message == "layer \(layer)")
        }
        var innermostError = error
        while let cause = innermostError.underlyingError as? LoadError { innermostError = cause }
        // The twenty layers omitted 12 causes.
        #expect(innermostError.message == "(12 causes left out) the first")
    }

    @Test("Of 1000 causes, the nearest seven and the root are kept") func thousandCausesAreReadWithoutRecursion() throws {
        let count = 1000
        let middle = unsafe CStorage(LoadError(.ioFailed, message: "middle"))
        let root = unsafe CStorage(LoadError(.ioFailed, message: "root"))
        let errors = UnsafeMutablePointer<portolan_error>.allocate(capacity: count)
        defer { unsafe errors.deallocate() }
        for index in 0..<count {
            unsafe (errors + index).initialize(to: index == count - 1 ? root.pointer.pointee : middle.pointer.pointee)
            unsafe errors[index].cause = index + 1 < count ? UnsafePointer(errors + index + 1) : nil
        }
        let causes = unsafe try LoadError(reading: errors).causes().compactMap { ($0 as? LoadError)?.message }
        #expect(causes == Array(repeating: "middle", count: 7) + ["(991 causes left out) root"])
    }

    @Test func cyclicCausesAreCutOff() throws {
        let storage = unsafe CStorage(LoadError(.ioFailed, message: "round"))
        let pointer = unsafe UnsafeMutablePointer(mutating: storage.pointer)
        unsafe pointer.pointee.cause = storage.pointer
        var depth = 0
        var nextError: LoadError? = unsafe try LoadError(reading: storage.pointer)
        while let error = nextError {
            depth += 1
            nextError = error.underlyingError as? LoadError
        }
        #expect(depth == 9)
    }

    @Test func multilineErrorMessageBecomesOneLine() {
        let storage = unsafe CStorage(LoadError(.ioFailed, message: "one\ntwo"))
        #expect(unsafe text(storage.pointer.pointee.message) == "one\u{FFFD}two")
    }

    // MARK: Changes

    /// Applies a change that `edit` fills.
    private func change(_ request: Request, _ edit: (inout portolan_change, inout CArena) -> Void) throws -> Request {
        let storage = unsafe CStorage<portolan_change> { arena in
            var change = unsafe portolan_change()
            unsafe change.size = UInt32(MemoryLayout<portolan_change>.size)
            unsafe edit(&change, &arena)
            return unsafe change
        }
        return unsafe try request.applying(storage.pointer)
    }

    private func request() throws -> Request {
        var request = try Request("https://u:p@example.org/a", method: .post)
        request.fields = [.authorization: "secret", .cookie: "a=b", .accept: "x", .contentType: "text/plain", .contentLength: "4"]
        request.body = .text("body")
        request.properties["org.example.kept"] = .integer(1)
        return request
    }

    @Test func emptyChangeKeepsTheRequest() throws {
        let (original, changedRequest) = (try request(), unsafe try change(request()) { _, _ in })
        #expect(changedRequest.url == original.url)
        #expect(changedRequest.method == original.method)
        #expect(changedRequest.fields == original.fields)
        #expect(changedRequest.properties == original.properties)
        #expect(changedRequest.body?.length == 4)
    }

    @Test(arguments: [
        ("https://example.org/b", true), ("https://example.com/a", false), ("http://example.org/a", false), ("data:,x", false),
    ])
    func credentialFieldsAreKeptOnlyForTheSameOrigin(_ url: String, _ isKept: Bool) throws {
        let changedRequest = unsafe try change(request()) { unsafe $0.url = $1.string(url) }
        #expect(changedRequest.url.string == url)
        #expect((changedRequest.fields[.authorization] != nil) == isKept)
        #expect((changedRequest.fields[.cookie] != nil) == isKept)
        #expect(changedRequest.fields[.accept] == "x")
    }

    @Test func userInformationIsNotSentToAnotherOrigin() throws {
        let sameCredentials = unsafe try change(request()) { unsafe $0.url = $1.string("https://u:p@example.com/") }
        let newCredentials = unsafe try change(request()) { unsafe $0.url = $1.string("https://v:q@example.com/") }
        #expect(sameCredentials.url.string == "https://example.com/")
        #expect(newCredentials.url.string == "https://v:q@example.com/")
    }

    @Test func droppingTheBodyDropsItsFields() throws {
        let changedRequest = unsafe try change(request()) { change, _ in unsafe change.drops_body = 1 }
        #expect(changedRequest.body == nil)
        #expect(changedRequest.fields[.contentType] == nil)
        #expect(changedRequest.fields[.contentLength] == nil)
        #expect(changedRequest.fields[.accept] == "x")
    }

    @Test func fieldsOfAChangeReplaceFieldsOfTheSameNameAndAbsentValuesRemoveThem() throws {
        let changedRequest = unsafe try change(request()) { change, arena in
            let fields: [(String, String?)] = [("Accept", "1"), ("accept", "2"), ("cookie", nil), ("X-New", "")]
            unsafe (change.fields, change.field_count) = arena.list(fields) { field, arena in
                let name = unsafe arena.string(field.0)
                return unsafe portolan_field(name: name, value: arena.string(field.1))
            }
        }
        #expect(changedRequest.fields[values: .accept] == ["1", "2"])
        #expect(changedRequest.fields[.cookie] == nil)
        #expect(try changedRequest.fields[#require(HTTPField.Name("X-New"))] == "")
        #expect(changedRequest.fields[.authorization] == "secret")
    }

    @Test func changeCanDropAllFields() throws {
        let changedRequest = unsafe try change(request()) { change, _ in unsafe change.drops_fields = 1 }
        #expect(changedRequest.fields.isEmpty)
    }

    @Test func propertiesAreReplacedAndRemoved() throws {
        let withoutProperty = unsafe try change(request()) { change, arena in
            unsafe (change.properties, change.property_count) = arena.list(["org.example.kept"]) { unsafe $1.property($0, nil) }
        }
        let withReplacedProperty = unsafe try change(request()) { change, arena in
            unsafe (change.properties, change.property_count) = arena.list(["org.example.kept"]) { unsafe $1.property($0, .real(2)) }
        }
        #expect(withoutProperty.properties.isEmpty)
        #expect(withReplacedProperty.properties["org.example.kept"] == .real(2))
    }

    @Test func malformedChangesAreViolations() throws {
        func violatedRule(_ edit: (inout portolan_change, inout CArena) -> Void) throws -> String? {
            do { _ = unsafe try change(request(), edit) } catch let violation as ContractViolation { return violation.rule.id }
            return nil
        }
        #expect(unsafe try violatedRule { unsafe $0.url = $1.string("relative") } == "REDIR-01")
        #expect(unsafe try violatedRule { unsafe $0.method = $1.string("G T") } == "SEC-08")
        #expect(unsafe try violatedRule { change, _ in unsafe change.size = 8 } == "DESC-05")
        #expect(unsafe try violatedRule { change, _ in unsafe change.field_count = 3 } == "DESC-05")
        #expect(unsafe try violatedRule { change, _ in unsafe change.field_count = -1 } == "DESC-05")
    }

    // MARK: Results through functions

    @Test func canonicalFormIsAcceptedOnce() throws {
        let request = try Request("x:Y")
        let (canonical, violation) = unsafe CanonicalForm.collect(for: request) { form in
            for url in ["x:first", "x:second"] {
                let storage = unsafe CStorage<portolan_change> { arena in
                    var change = unsafe portolan_change()
                    unsafe change.size = UInt32(MemoryLayout<portolan_change>.size)
                    unsafe change.url = arena.string(url)
                    return unsafe change
                }
                unsafe form.pointee.give(form, storage.pointer)
            }
        }
        #expect(canonical.url.description == "x:first")
        #expect(violation?.rule.id == "CANON-06")
        let (unchangedForm, noViolation) = unsafe CanonicalForm.collect(for: request) { _ in }
        #expect(unchangedForm.url == request.url)
        #expect(noViolation == nil)
    }

    @Test func lastReasonOfARefusalIsUsed() {
        let reason = unsafe Refusal.collect { refusal in
            for message in ["first", "last"] {
                let storage = unsafe CStorage(LoadError(.notFound, message: message))
                unsafe refusal.pointee.give(refusal, storage.pointer)
            }
        }
        guard case .success(let error)? = reason else {
            Issue.record("the refusal has no reason")
            return
        }
        #expect(error.message == "last")
    }
}
