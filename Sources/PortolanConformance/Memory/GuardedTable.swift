// SPDX-License-Identifier: Apache-2.0

/// A C struct in a page of its own, which can be taken away, and that can end where the page ends, before one that nobody may touch: a plugin that
/// reads beyond the size it was given is stopped. The object that the functions serve is found at the beginning of the page.
@safe
final class GuardedTable<Head>: @unchecked Sendable {  // … because what is behind the pointer is written before it is shared
    private let pages: GuardedPages
    let pointer: UnsafeMutablePointer<Head>

    /// How much of the page is left behind the struct where reading there is to do no harm: zeros.
    private static var slack: Int { 1024 }

    init(_ argumentMemory: ArgumentMemory, _ head: Head) throws(CheckSkipped) {
        pages = try GuardedPages(MemoryLayout<Head>.size)
        let end = unsafe pages.base + (pages.size - (argumentMemory == .flush ? 0 : Self.slack))
        unsafe pointer = (end - MemoryLayout<Head>.size).bindMemory(to: Head.self, capacity: 1)
        unsafe pointer.initialize(to: head)
    }

    /// The object is not retained: it has to outlive the table.
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

    /// From now on nobody can write to it.
    func protect() {
        pages.protect()
    }

    var state: PageState? { pages.state }

    /// From now on a call through the table, or a look at it, is stopped.
    func poison() {
        pages.poison()
    }
}
