/// What a plugin is given to name a command or a filter's call by when it says something to it: numbers in a pointer's place,
/// so that what comes too late or twice leads to no freed memory.
struct CallContext: Sendable, Equatable {
    /// Which of the doors that were ever opened.
    var door: Int
    /// Which of its commands or calls, from 1.
    var number: UInt64

    private static var numberBits: Int { 40 }

    init(door: Int, number: UInt64) {
        self.door = door
        self.number = number
    }

    /// Nil for what none of them had.
    init?(_ pointer: UnsafeMutableRawPointer?) {
        guard let pointer else { return nil }
        let bits = UInt(bitPattern: pointer)
        door = Int(bits >> Self.numberBits)
        number = UInt64(bits & (1 << Self.numberBits - 1))
    }

    /// Nil when either number has grown beyond its place.
    var pointer: UnsafeMutableRawPointer? {
        guard door >= 0, door < 1 << 23, number > 0, number < 1 << Self.numberBits else { return nil }
        return UnsafeMutableRawPointer(bitPattern: UInt(door) << Self.numberBits | UInt(number))
    }
}
