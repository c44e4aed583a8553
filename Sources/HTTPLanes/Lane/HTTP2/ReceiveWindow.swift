/// How much DATA the peer may send, on the connection or on one stream (RFC 9113, section 6.9). What arrives is used up at
/// once, so the window opens again whenever half of it is gone, and nobody is held to it: what is kept has limits of its own.
struct ReceiveWindow {
    private let size: Int
    private var used = 0

    init(size: Int) {
        self.size = size
    }

    mutating func received(_ count: Int) {
        used += count
    }

    /// By how much to open the window now; nil when it is open enough.
    mutating func takeIncrement() -> Int? {
        guard used > 0, 2 * used >= size else { return nil }
        defer { used = 0 }
        return used
    }
}
