// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An order from the runner to a supervisor: the check to run, the key that signs its result, and the loads and
/// steps that hung in earlier checks.
struct CheckOrder {
    static let size = 4 + HungLoads.size + HungSteps.size + ResultKey.size

    /// The index of the check in the runner's list of checks.
    let number: Int
    let hungLoads: HungLoads
    let hungSteps: HungSteps
    let key: ResultKey

    init(_ number: Int, _ hungLoads: HungLoads, _ hungSteps: HungSteps, _ key: ResultKey) {
        (self.number, self.hungLoads, self.hungSteps, self.key) = (number, hungLoads, hungSteps, key)
    }

    /// - Parameter bytes: Exactly ``size`` bytes.
    init(_ bytes: [UInt8]) {
        number = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        hungLoads = HungLoads(bytes.dropFirst(4).prefix(HungLoads.size)) ?? HungLoads()
        hungSteps = HungSteps(bytes.dropFirst(4 + HungLoads.size).prefix(HungSteps.size)) ?? HungSteps()
        key = ResultKey(bytes.dropFirst(4 + HungLoads.size + HungSteps.size))
    }

    var bytes: [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } + hungLoads.bytes + hungSteps.bytes + key.bytes
    }
}

/// A supervisor's report on the process of one check.
struct SupervisorReport {
    /// The ID of the check's process; 0 if the process could not be made.
    var processID: pid_t = 0
    /// The status of `waitpid(2)`; errno of `fork(2)` if there was no process.
    var status: Int32 = 0
    /// Whether the supervisor killed the process at the end of its time limit.
    var wasKilledAtLimit = false
    /// The names of the processes that the check left behind. At most 32 are written.
    var remainingProcessNames: [String] = []

    /// The size in bytes; small enough for an atomic write to a pipe (`pipe(7)`).
    static let size = 1024
    private static let mark: UInt32 = 0x706F_7274
    private static let numberCount = 5

    init() {}

    func write(to output: Int32) {
        let names = Array(
            remainingProcessNames.prefix(32).map { $0.replacing("\n", with: "?") }.joined(separator: "\n").utf8.prefix(Self.size - 64))
        let numbers = [Self.mark, UInt32(bitPattern: processID), UInt32(bitPattern: status), wasKilledAtLimit ? 1 : 0, UInt32(names.count)]
        var bytes = numbers.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } } + names
        bytes += [UInt8](repeating: 0, count: Self.size - bytes.count)
        while unsafe Glibc.write(output, bytes, bytes.count) < 0, errno == EINTR {}
    }

    /// - Parameter bytes: What was read from the pipe. The result is `nil` if it is no report.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count == Self.size else { return nil }
        let numbers = (0..<Self.numberCount).map { index in
            (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[bytes.startIndex + 4 * index + $1]) << UInt32(8 * $1) }
        }
        let rest = bytes.dropFirst(4 * Self.numberCount)
        guard numbers[0] == Self.mark, numbers[4] <= rest.count else { return nil }
        (processID, status, wasKilledAtLimit) = (pid_t(bitPattern: numbers[1]), Int32(bitPattern: numbers[2]), numbers[3] == 1)
        remainingProcessNames = rest.prefix(Int(numbers[4])).split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
    }
}
