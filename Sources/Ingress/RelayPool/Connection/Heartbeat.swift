/// Tells a silent relay from a dead one. `now` is in milliseconds on a clock that does not jump.
struct Heartbeat {
    enum Action: Equatable {
        case nothing
        case ping
        case giveUp
    }

    /// Pings that may stay without any answer.
    private static let patience = 2

    private let silence: Int64
    private var unanswered = 0
    /// When ``tick(now:isListening:)`` has something to do.
    private(set) var nextTick: Int64

    init(silence: Int64, now: Int64) {
        self.silence = silence
        self.nextTick = now + silence
    }

    /// Something came, whatever it was.
    mutating func heard(now: Int64) {
        unanswered = 0
        nextTick = now + silence
    }

    /// Silence says nothing while we are not listening.
    mutating func tick(now: Int64, isListening: Bool) -> Action {
        guard now >= nextTick else { return .nothing }
        nextTick = now + silence
        guard isListening else {
            unanswered = 0
            return .nothing
        }
        guard unanswered < Self.patience else { return .giveUp }
        unanswered += 1
        return .ping
    }
}
