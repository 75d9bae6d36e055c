// SPDX-License-Identifier: Apache-2.0

/// The machine for which an ELF file was compiled (`elf(5)`).
struct ELFHeader: Equatable {
    let is64Bit: Bool
    let isLittleEndian: Bool
    let machine: UInt16

    /// The number of bytes that ``init(_:)`` reads.
    static let length = 20

    /// `nil` if the file is not an ELF file.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.length, bytes.starts(with: [0x7F, UInt8(ascii: "E"), UInt8(ascii: "L"), UInt8(ascii: "F")]) else {
            return nil
        }
        is64Bit = bytes[4] == 2
        isLittleEndian = bytes[5] != 2
        let (first, second) = (UInt16(bytes[18]), UInt16(bytes[19]))
        machine = isLittleEndian ? first | second << 8 : first << 8 | second
    }

    init(is64Bit: Bool, isLittleEndian: Bool, machine: UInt16) {
        self.is64Bit = is64Bit
        self.isLittleEndian = isLittleEndian
        self.machine = machine
    }

    /// The header of libraries that this process can load. `nil` if this code does not know the machine.
    static let ofThisProcess: ELFHeader? = {
        #if arch(x86_64)
            let machine: UInt16? = 62
        #elseif arch(i386)
            let machine: UInt16? = 3
        #elseif arch(arm64)
            let machine: UInt16? = 183
        #elseif arch(arm)
            let machine: UInt16? = 40
        #elseif arch(riscv64)
            let machine: UInt16? = 243
        #else
            let machine: UInt16? = nil
        #endif
        return machine.map { ELFHeader(is64Bit: Int.bitWidth == 64, isLittleEndian: 1.littleEndian == 1, machine: $0) }
    }()
}

extension ELFHeader: CustomStringConvertible {
    /// For example `x86_64, 64 bits`.
    var description: String {
        let name = Self.machineNames[machine] ?? "machine \(machine)"
        return "\(name), \(is64Bit ? 64 : 32) bits\(isLittleEndian ? "" : ", big-endian")"
    }

    private static let machineNames: [UInt16: String] = [
        3: "i386", 8: "mips", 20: "powerpc", 21: "powerpc64", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv",
        258: "loongarch",
    ]
}
