// SPDX-License-Identifier: Apache-2.0

/// A C struct of functions on a separate page, which can be made inaccessible. The struct can end at the end of the
/// page, before an inaccessible page, so that a plugin that reads beyond the struct's size crashes. The start of the
/// page contains the pointer to the object that the functions serve.
@safe
final class GuardedTable<Head>: @unchecked Sendable {  // … because the struct is written before the table is shared
    private let pages: GuardedPages
    let pointer: UnsafeMutablePointer<Head>

    /// The number of zero bytes after the struct, if reads there should be harmless.
    private static var slack: Int { 1024 }

    init(_ argumentMemory: ArgumentMemory, _ head: Head) throws(CheckSkipped) {
        pages = try GuardedPages(MemoryLayout<Head>.size)
        let end = unsafe pages.base + (pages.size - (argumentMemory == .flush ? 0 : Self.slack))
        unsafe pointer = (end - MemoryLayout<Head>.size).bindMemory(to: Head.self, capacity: 1)
        unsafe pointer.initialize(to: head)
    }

    /// Stores the object that the functions serve. The object is not retained: it must outlive the table.
    func serve(_ object: AnyObject) {
        unsafe pages.base.storeBytes(of: Unmanaged.passUnretained(object).toOpaque(), as: UnsafeMutableRawPointer.self)
    }

    /// The object that the table at `pointer` serves.
    static func object<Object: AnyObject>(of pointer: UnsafeMutablePointer<Head>, as type: Object.Type) -> Object {
        let address = UInt(bitPattern: pointer) & ~UInt(GuardedPages.pageSize - 1)
        guard let page = unsafe UnsafeRawPointer(bitPattern: address) else { fatalError("a table at address 0") }
        let opaque = unsafe page.load(as: UnsafeMutableRawPointer.self)
        return unsafe Unmanaged<Object>.fromOpaque(opaque).takeUnretainedValue()
    }

    /// Makes the struct read-only.
    func protect() {
        pages.protect()
    }

    var state: PageState? { pages.state }

    /// Makes the struct inaccessible: reads, and calls through it, crash.
    func poison() {
        pages.poison()
    }
}
