/// Counts and limits the open streams of one HTTP/2 connection (RFC 9113, sections 5.1.1 and 5.1.2).
///
/// Before the peer's SETTINGS arrive exactly one stream is allowed: APNs grants no more until it has accepted a
/// provider token, and closes connections that exceed the limit.
struct StreamBudget {
    private(set) var inFlight = 0
    /// How many of these the peer knows. If it lowers its limit, the others must wait.
    private(set) var sent = 0
    private(set) var allowed = 1
    /// The peer has sent GOAWAY, or stream IDs run out: open streams may finish, no new one starts.
    private(set) var isDraining = false
    private let ceiling: Int

    /// - Parameter ceiling: This side's limit of open streams, whatever the peer allows.
    init(ceiling: Int) {
        self.ceiling = ceiling
    }

    /// The number of streams that may be opened now.
    var free: Int { isDraining ? 0 : max(0, allowed - inFlight) }

    mutating func settingsReceived(maxConcurrentStreams: UInt32) {
        allowed = min(Int(maxConcurrentStreams), ceiling)
    }

    mutating func opened(streamID: Int32) {
        inFlight += 1
        // Half of the ID space stays unused, far from values that a peer may handle wrongly.
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

/// The send window, of the connection or of one stream (RFC 9113, section 6.9).
///
/// A stream's window counts from the peer's initial size, which may change for open streams, even to below zero.
struct SendWindow {
    static let maximum = 0x7fff_ffff
    /// A connection's initial size, which no setting changes (RFC 9113, section 6.9.2).
    static let connectionSize = 65_535

    /// Bytes granted minus bytes sent, beyond the initial size.
    private(set) var granted = 0

    func available(initially size: Int) -> Int { size + granted }

    /// How many more bytes of DATA make the peer update its window. Most peers do that when half of it is used. A frame
    /// that ends exactly there gets both halves of a used-up window back together. After a longer frame, the rest is
    /// less than half, and the peer holds it back until more data comes.
    func untilUpdate(initially size: Int) -> Int {
        let half = size / 2
        let used = -granted
        guard used >= 0 else { return .max }
        return used < half ? half - used : used < 2 * half ? 2 * half - used : .max
    }

    mutating func sent(_ count: Int) {
        granted -= count
    }

    /// False if the window exceeds the protocol's maximum.
    mutating func grow(by increment: Int, initially size: Int) -> Bool {
        granted += increment
        return size + granted <= Self.maximum
    }
}

/// The receive window, of the connection or of one stream (RFC 9113, section 6.9). Received bytes are consumed
/// immediately, so the window reopens whenever half of it is used. It does not limit peers; kept bytes have their own
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

    /// The increment for a window update now; nil if none is needed.
    mutating func takeIncrement() -> Int? {
        guard used > 0, 2 * used >= size else { return nil }
        defer { used = 0 }
        return used
    }
}

/// A budget for frames that do not advance a request (RFC 9113, section 10.5), because each costs processor time:
/// endless trailers and interim responses, empty DATA, PING, SETTINGS, WINDOW_UPDATE, PRIORITY, frames of unknown types
/// and frames on streams that have ended.
///
/// Each stream that ends refills some of it: an honest peer uses two to five frames for a response.
struct FrameAllowance {
    private static let limit = 10_000
    private static let perStream = 100
    /// A DATA frame with at least this many kept bytes is free. Their number is limited.
    private static let usefulContent = 64

    private var left = Self.limit

    /// Charges a frame. A large one other than DATA costs more: its fields or settings are decoded one by one.
    mutating func spend(_ header: FrameHeader) throws(HTTP2Violation) {
        left -= header.type == .data ? 1 : 1 + header.length / 256
        guard left > 0 else { throw .connection(.enhanceYourCalm) }
    }

    /// Refunds a DATA frame of which `kept` bytes are part of a response.
    mutating func received(kept: Int) {
        if kept >= Self.usefulContent { left += 1 }
    }

    mutating func streamEnded() {
        left = min(Self.limit, left + Self.perStream)
    }
}
