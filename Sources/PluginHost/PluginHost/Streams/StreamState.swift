import Core
import DequeModule

/// The state machine of a stream. Pure.
///
/// Functions return the actions in order. No action follows ``Action/end(_:)``.
struct StreamState: Sendable {
    enum Action: Sendable, Equatable {
        /// Write the bytes to the channel; ``StreamState/sent(_:now:)`` must follow.
        case send([UInt8])
        /// Start TLS on the channel.
        case secure
        /// Notify the receiver that the stream is open.
        case opened
        /// Pass the bytes to the receiver.
        case deliver([UInt8])
        /// Report the total of sent bytes to the receiver.
        case acknowledge(UInt64)
        /// Close the channel: everything is sent.
        case shut
        /// Close the channel, if it still exists, and report the end to the receiver.
        case end(StreamError?)
    }

    private enum Phase {
        case connecting
        /// The TLS handshake is in progress.
        case securing
        case open
        case ended
    }

    /// An entry of the send queue.
    private enum Item {
        case bytes([UInt8])
        /// TLS starts here.
        case startTLS
    }

    /// How long queued bytes are sent after ``close(now:)``.
    static let closingTime: Duration = .seconds(5)

    private var phase = Phase.connecting
    private let beginsWithTLS: Bool
    private let connectTimeout: Duration
    private let idleTimeout: Duration
    /// Whether TLS is active or requested.
    private var usesTLS: Bool
    /// Whether no bytes may arrive until TLS is active: unencrypted bytes would be injected.
    private(set) var isAwaitingTLS: Bool
    private var queue: Deque<Item> = []
    /// Bytes in the queue.
    private var waiting = 0
    /// Bytes that the channel has but has not sent.
    private var unsent = 0
    private var sentInAll: UInt64 = 0
    /// Bytes that arrived before the stream was open.
    private var early: [UInt8] = []
    private var openDeadline: Deadline
    private var lastByte: Deadline
    private var closeDeadline: Deadline?
    private var isShut = false

    init(_ target: StreamTarget, now: Deadline) {
        beginsWithTLS = target.usesTLS
        connectTimeout = target.connectTimeout
        idleTimeout = target.idleTimeout
        usesTLS = target.usesTLS
        isAwaitingTLS = target.usesTLS
        openDeadline = now + target.connectTimeout
        lastByte = now
    }

    var hasEnded: Bool { phase == .ended }

    // MARK: The connection

    /// The channel is connected.
    mutating func connected(now: Deadline) -> [Action] {
        guard phase == .connecting else { return [] }
        guard beginsWithTLS else { return open(now: now) }
        phase = .securing
        return [.secure]
    }

    /// TLS is active.
    mutating func secured(now: Deadline) -> [Action] {
        guard phase == .securing else { return [] }
        isAwaitingTLS = false
        return open(now: now)
    }

    private mutating func open(now: Deadline) -> [Action] {
        phase = .open
        lastByte = now
        guard early.isEmpty || !isAwaitingTLS else { return end(.tls) }
        defer { early = [] }
        return [.opened] + (early.isEmpty ? [] : [.deliver(early)]) + flush(now: now)
    }

    /// The channel is closed.
    mutating func channelClosed() -> [Action] {
        end(closeDeadline != nil || phase == .open ? nil : .closed)
    }

    /// The channel failed.
    mutating func failed(_ failure: StreamError) -> [Action] { end(closeDeadline == nil ? failure : nil) }

    /// Ends it immediately.
    mutating func end(_ failure: StreamError?) -> [Action] {
        guard phase != .ended else { return [] }
        phase = .ended
        queue = []
        early = []
        return [.end(failure)]
    }

    // MARK: Bytes

    /// Bytes have arrived, decrypted if TLS is active.
    mutating func received(_ bytes: [UInt8], now: Deadline) -> [Action] {
        guard phase != .ended, closeDeadline == nil else { return [] }
        if phase == .connecting, !isAwaitingTLS {
            early += bytes
            return []
        }
        guard !isAwaitingTLS else { return end(.tls) }
        lastByte = now
        return [.deliver(bytes)]
    }

    /// The channel has sent `count` of its bytes.
    mutating func sent(_ count: Int, now: Deadline) -> [Action] {
        guard phase != .ended else { return [] }
        unsent -= count
        sentInAll += UInt64(count)
        lastByte = now
        return [.acknowledge(sentInAll)] + flush(now: now)
    }

    // MARK: Requests of the owner

    mutating func write(_ bytes: [UInt8], now: Deadline) -> [Action] {
        guard phase != .ended, closeDeadline == nil, !bytes.isEmpty else { return [] }
        queue.append(.bytes(bytes))
        waiting += bytes.count
        return flush(now: now)
    }

    mutating func startTLS(now: Deadline) -> [Action] {
        guard phase != .ended, closeDeadline == nil, !usesTLS else { return [] }
        usesTLS = true
        isAwaitingTLS = true
        queue.append(.startTLS)
        return flush(now: now)
    }

    mutating func close(now: Deadline) -> [Action] {
        guard phase != .ended, closeDeadline == nil else { return [] }
        closeDeadline = now + Self.closingTime
        guard phase == .open || waiting + unsent > 0 else { return end(nil) }
        return flush(now: now)
    }

    private mutating func flush(now: Deadline) -> [Action] {
        var actions: [Action] = []
        while phase == .open, let item = queue.popFirst() {
            switch item {
            case .bytes(let bytes):
                waiting -= bytes.count
                unsent += bytes.count
                actions.append(.send(bytes))
            case .startTLS:
                phase = .securing
                openDeadline = now + connectTimeout
                actions.append(.secure)
            }
        }
        if closeDeadline != nil, phase == .open || waiting == 0, unsent == 0, queue.isEmpty, !isShut {
            isShut = true
            actions.append(.shut)
        }
        return actions
    }

    // MARK: Time

    /// The latest time for ``tick(now:)``; nil: never.
    var nextDeadline: Deadline? {
        switch phase {
        case .ended: nil
        case .connecting, .securing: min(openDeadline, closeDeadline ?? openDeadline)
        case .open: closeDeadline ?? lastByte + idleTimeout
        }
    }

    /// Checks the deadlines.
    mutating func tick(now: Deadline) -> [Action] {
        guard let nextDeadline, nextDeadline <= now else { return [] }
        if closeDeadline != nil { return end(waiting + unsent > 0 ? .timeout : nil) }
        return end(phase == .open ? .idle : .timeout)
    }
}
