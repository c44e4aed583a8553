import Glibc
import PluginProtocol
import Units

/// Splits what a process writes to its standard error into lines, a bounded number of bounded length.
struct LineReader {
    private static let lengthLimit = 1024

    private let descriptor: Int32
    private var rest: [UInt8] = []
    private var allowance = LineAllowance()
    private(set) var isOpen = true

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Reads what is there, and hands on its first lines.
    mutating func read(now: Deadline, _ handle: (String) -> Void) {
        var room = [UInt8](repeating: 0, count: 16 << 10)
        let count = Glibc.read(descriptor, &room, room.count)
        if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { isOpen = false }
        rest += room.prefix(max(0, count))
        var parts = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        rest = isOpen ? Array((parts.popLast() ?? []).prefix(Self.lengthLimit)) : []
        for line in parts where !line.isEmpty && allowance.take(at: now) {
            handle(OutsideText.printable(String(decoding: line, as: UTF8.self), limit: Self.lengthLimit))
        }
    }
}

/// How many lines the plugins of a process may have logged: 100 a second.
struct LineAllowance: Sendable {
    private static var perSecond: Int { 100 }

    private var second = Deadline.distantPast
    private var taken = 0

    /// Whether one more may pass at `now`.
    mutating func take(at now: Deadline) -> Bool {
        if now - second >= .seconds(1) { (second, taken) = (now, 0) }
        taken += 1
        return taken <= Self.perSecond
    }
}
