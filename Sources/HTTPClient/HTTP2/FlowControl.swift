/// How many streams one HTTP/2 connection may have open, and how many it has (RFC 9113, sections 5.1.1 and 5.1.2).
///
/// Before the peer's SETTINGS arrive exactly one stream is allowed: APNs grants no more until a provider token has
/// proved good, and a connection that overstepped it would be closed.
struct StreamBudget {
    private(set) var inFlight = 0
    /// How many of these the peer has heard of. When it lowers its limit, the others have to wait.
    private(set) var sent = 0
    private(set) var allowed = 1
    /// The peer has said GOAWAY, or stream ids run out: what is open may finish, nothing new starts.
    private(set) var isDraining = false
    private let ceiling: Int

    /// - Parameter ceiling: What this side keeps open at most, whatever the peer allows.
    init(ceiling: Int) {
        self.ceiling = ceiling
    }

    /// How many streams may be opened now.
    var free: Int { isDraining ? 0 : max(0, allowed - inFlight) }

    mutating func settingsReceived(maxConcurrentStreams: UInt32) {
        allowed = min(Int(maxConcurrentStreams), ceiling)
    }

    mutating func opened(streamID: Int32) {
        inFlight += 1
        // Half of the id space is left unused, far from where a peer may start to count carelessly.
        if streamID >= 1 << 30 { isDraining = true }
    }

    mutating func startedSending() {
        sent += 1
    }

    mutating func closed(wasSent: Bool) {
        inFlight -= 1
        if wasSent { sent -= 1 }
    }

    mutating func drain() {
        isDraining = true
    }
}

/// How much DATA the peer takes, on the connection or on one stream (RFC 9113, section 6.9).
///
/// A stream's is counted from the peer's initial size, which may change under open streams and may leave less than
/// nothing.
struct SendWindow {
    static let maximum = 0x7fff_ffff
    /// The initial size of a connection's, which no setting changes (RFC 9113, section 6.9.2).
    static let connectionSize = 65_535

    /// What was granted less what was sent, beyond the initial size.
    private(set) var granted = 0

    func available(initially size: Int) -> Int { size + granted }

    /// After how much more DATA a peer that opens its window by halves does so, as most do. A frame that ends just
    /// there gets both halves of a used-up window back at once: with one that goes beyond, the rest is less than a
    /// half, and the peer keeps it until more comes.
    func untilUpdate(initially size: Int) -> Int {
        let half = size / 2
        let used = -granted
        guard used >= 0 else { return .max }
        return used < half ? half - used : used < 2 * half ? 2 * half - used : .max
    }

    mutating func sent(_ count: Int) {
        granted -= count
    }

    /// False when the window grows beyond what the protocol knows.
    mutating func grow(by increment: Int, initially size: Int) -> Bool {
        granted += increment
        return size + granted <= Self.maximum
    }
}

/// How much DATA the peer may send, on the connection or on one stream (RFC 9113, section 6.9). Received bytes are used
/// up at once, so the window opens again whenever half of it is gone. It limits no peer; kept bytes have their own
/// limits.
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

/// How many frames the peer may still send that bring no request forward (RFC 9113, section 10.5), since each costs
/// processor time: trailers and interim answers without end, empty DATA, PING, SETTINGS, WINDOW_UPDATE, PRIORITY, frames
/// of unknown types and frames on streams that have ended.
///
/// The peer gets some back with each stream that ends: an honest one uses two to five frames for an answer.
struct FrameAllowance {
    private static let limit = 10_000
    private static let perStream = 100
    /// A DATA frame with at least so many bytes that are kept is free. Their number is limited.
    private static let usefulContent = 64

    private var left = Self.limit

    /// Charges a frame. A large one other than DATA costs more: its fields or settings are decoded one by one.
    mutating func spend(_ header: FrameHeader) throws(HTTP2Violation) {
        left -= header.type == .data ? 1 : 1 + header.length / 256
        guard left > 0 else { throw .connection(.enhanceYourCalm) }
    }

    /// Gives back what a DATA frame cost of which `kept` bytes are part of an answer.
    mutating func received(kept: Int) {
        if kept >= Self.usefulContent { left += 1 }
    }

    mutating func streamEnded() {
        left = min(Self.limit, left + Self.perStream)
    }
}
