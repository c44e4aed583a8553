import PluginProtocol
import Units

/// Notices that a process hangs: it is asked what it is inside of, and a call may only take so long. Pure.
package struct CallWatch: Sendable {
    package enum Action: Sendable, Equatable {
        case nothing
        /// Ask the process what it is inside of.
        case ping
        /// Abort this thread of the process, so that it reports its stack; `reason` says what for.
        case abort(thread: UInt32, reason: String)
        case kill(reason: String)
    }

    /// How long an aborted process may take to report its stack.
    private static var grace: Duration { .milliseconds(300) }

    private let deadline: Duration
    private let questionDeadline: Duration
    private let interval: Duration
    private var pingedAt: Deadline?
    private var askedAt = Deadline.distantPast
    /// Since when the process has nothing to do; nil: it has.
    private var idleSince: Deadline?
    private var aborted: (at: Deadline, reason: String)?

    package init(deadline: Duration, questionDeadline: Duration) {
        self.deadline = deadline
        self.questionDeadline = questionDeadline
        interval = min(.seconds(1), min(deadline, questionDeadline) / 3)
    }

    /// How long ``tick(now:isBusy:)`` may wait.
    package func pace(isBusy: Bool) -> Duration {
        guard aborted == nil else { return Self.grace / 3 }
        return isBusy ? interval : max(interval, .seconds(1))
    }

    /// Time has passed. `isBusy`: the process has something to do. One that has not is asked seldom: a timer of its own
    /// may hang.
    package mutating func tick(now: Deadline, isBusy: Bool) -> Action {
        if let aborted { return now - aborted.at >= Self.grace ? .kill(reason: aborted.reason) : .nothing }
        if let pingedAt {
            return now - pingedAt > deadline ? .kill(reason: "did not answer within \(Self.text(deadline))") : .nothing
        }
        guard isDue(now: now, isBusy: isBusy) else { return .nothing }
        pingedAt = now
        askedAt = now
        return .ping
    }

    private mutating func isDue(now: Deadline, isBusy: Bool) -> Bool {
        guard !isBusy else {
            idleSince = nil
            return now - askedAt >= interval
        }
        let since = idleSince ?? now
        idleSince = since
        return now - max(since, askedAt) >= deadline
    }

    /// The process says what it is inside of.
    package mutating func receive(_ pong: PongMessage, now: Deadline) -> Action {
        pingedAt = nil
        guard aborted == nil else { return .nothing }
        for call in [pong.deliveries, pong.questions] where call.kind != 0 {
            let kind = UInt16(exactly: call.kind).flatMap(FrameKind.init(rawValue:))
            let limit = limit(of: kind)
            guard call.milliseconds > UInt64(clamping: limit.milliseconds) else { continue }
            let name = kind.map { "\($0)" } ?? (call.kind == PongMessage.Call.timer ? "a timer" : "a call")
            let reason = "did not return from \(name) within \(Self.text(limit))"
            aborted = (now, reason)
            return .abort(thread: call.thread, reason: reason)
        }
        return .nothing
    }

    /// How long a call for a frame of this kind may take.
    package func limit(of kind: FrameKind?) -> Duration {
        switch kind {
        case .validate, .check, .decide: questionDeadline
        default: deadline
        }
    }

    private static func text(_ span: Duration) -> String {
        span.milliseconds % 1_000 == 0 ? "\(span.seconds) s" : "\(span.milliseconds) ms"
    }
}
