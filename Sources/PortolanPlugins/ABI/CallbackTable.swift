// SPDX-License-Identifier: Apache-2.0

/// A C struct of function pointers, followed in memory by a reference to the object that handles the calls.
///
/// C passes the struct to each function. The function finds its object with one memory access.
@safe
struct CallbackTable<Head>: @unchecked Sendable {  // … because nothing changes the memory after it is shared
    let pointer: UnsafeMutablePointer<Head>

    init(_ head: Head) {
        let memory = unsafe UnsafeMutableRawPointer.allocate(
            byteCount: Self.offset + MemoryLayout<UnsafeRawPointer>.size, alignment: 16)
        unsafe pointer = memory.bindMemory(to: Head.self, capacity: 1)
        unsafe pointer.initialize(to: head)
    }

    /// Sets the object that handles the calls. The table does not retain the object, so the object must
    /// outlive the table.
    func setObject(_ object: AnyObject) {
        unsafe (UnsafeMutableRawPointer(pointer) + Self.offset).storeBytes(
            of: Unmanaged.passUnretained(object).toOpaque(), as: UnsafeMutableRawPointer.self)
    }

    /// Returns the object that handles the calls of the table at `pointer`.
    @inline(__always)
    static func object<Object: AnyObject>(of pointer: UnsafeMutablePointer<Head>, as type: Object.Type) -> Unmanaged<Object> {
        let opaque = unsafe (UnsafeMutableRawPointer(pointer) + offset).load(as: UnsafeMutableRawPointer.self)
        return unsafe Unmanaged.fromOpaque(opaque)
    }

    func deallocate() {
        unsafe pointer.deallocate()
    }

    private static var offset: Int {
        @inline(__always) get { (MemoryLayout<Head>.size + 7) & ~7 }
    }
}
