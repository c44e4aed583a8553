/// How much DATA the peer takes, on the connection or on one stream (RFC 9113, section 6.9).
///
/// A stream's is counted from the peer's initial size, which may change under open streams and may leave less than nothing.
struct SendWindow {
    static let maximum = 0x7fff_ffff

    /// What was granted less what was sent, beyond the initial size.
    private(set) var granted = 0

    func available(initially size: Int) -> Int { size + granted }

    mutating func sent(_ count: Int) {
        granted -= count
    }

    /// False when the window grows beyond what the protocol knows.
    mutating func grow(by increment: Int, initially size: Int) -> Bool {
        granted += increment
        return size + granted <= Self.maximum
    }
}
