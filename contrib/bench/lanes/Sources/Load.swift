/// Something that pushes.
protocol Load: Sendable {
    /// Starts the push of that number, and calls `completion` with whether the server answered 200.
    func push(_ number: Int, completion: @escaping @Sendable (Bool) -> Void)
}

extension Load {
    /// The device that the server knows.
    static var device: String { "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0" }

    /// A UUID in lower case, different every time.
    static func identifier(_ number: Int) -> String {
        let prefix: StaticString = "9d4f1c2e-5b7a-4e21-8c3d-"
        return String(unsafeUninitializedCapacity: 36) { room in
            _ = room.initialize(from: UnsafeBufferPointer(start: prefix.utf8Start, count: 24))
            for place in 0..<12 {
                let digit = UInt8(truncatingIfNeeded: number >> (4 * (11 - place)) & 15)
                room[24 + place] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
            }
            return 36
        }
    }
}
