/// What of a stream waits to be sent, and whether more may. Pure; both places where plugins run keep one.
package struct SendWindow: Sendable {
    /// The most bytes that wait.
    package static let limit = 1 << 20

    /// All that was taken so far.
    private var taken: UInt64 = 0
    /// All of it that has left.
    private var sent: UInt64 = 0
    /// Whether the plugin waits for `drained`.
    private var owesDrained = false

    package init() {}

    /// Takes so many bytes more. False: too many would wait, and none are taken.
    package mutating func take(_ count: Int) -> Bool {
        guard UInt64(count) + (taken - sent) <= UInt64(Self.limit) else {
            owesDrained = true
            return false
        }
        taken += UInt64(count)
        return true
    }

    /// What a report of what has left comes to.
    package enum Report: Sendable, Equatable {
        case nothing
        /// Nothing waits any more, and the plugin wants to know.
        case drained
        /// Less than before, or more than was taken: nobody can have sent that.
        case impossible
    }

    /// So many bytes have left in all.
    package mutating func sent(_ total: UInt64) -> Report {
        guard total >= sent, total <= taken else { return .impossible }
        sent = total
        guard owesDrained, sent == taken else { return .nothing }
        owesDrained = false
        return .drained
    }
}

/// What of a stream has been given to a plugin's process and is not taken by the plugin: with too much of it, reading
/// pauses. Pure; the router keeps one.
package struct ReceiveWindow: Sendable {
    /// The most that the plugin has not taken, but for what has been read already.
    package static let limit = 256 << 10
    /// The plugin's process reports after so many bytes.
    package static let reportInterval = 64 << 10

    /// All that was given so far.
    private var given: UInt64 = 0
    /// All of it that the plugin has taken.
    private var taken: UInt64 = 0
    private var isPaused = false

    package init() {}

    /// Whether the plugin has not taken everything.
    package var isOpen: Bool { given > taken }

    /// Whether the plugin's process should have reported something that it has not.
    package var isBehind: Bool { given - taken >= UInt64(Self.reportInterval) }

    /// So many bytes more are given. True: reading is to pause.
    package mutating func give(_ count: Int) -> Bool {
        given += UInt64(count)
        guard !isPaused, given - taken >= UInt64(Self.limit) else { return false }
        isPaused = true
        return true
    }

    /// What a report of what was taken comes to.
    package enum Report: Sendable, Equatable {
        case nothing
        /// Reading may go on.
        case resume
        /// Less than before, or more than was given.
        case impossible
    }

    /// The plugin has taken so many bytes in all.
    package mutating func took(_ total: UInt64) -> Report {
        guard total >= taken, total <= given else { return .impossible }
        taken = total
        guard isPaused, given - taken <= UInt64(Self.limit / 2) else { return .nothing }
        isPaused = false
        return .resume
    }
}
