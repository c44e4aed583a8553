import Core
import Logging
import Synchronization

/// A kind of protocol violation by a relay. One word of a small fixed set, for logs and a metric's label.
package enum RelayViolation: String, Sendable, Hashable, CaseIterable {
    /// Malformed messages (NIP-01).
    case malformed
    /// Events with a wrong id or signature, or malformed ones.
    case invalidEvents = "invalid-events"
    /// Events on subscriptions that the router never opened.
    case unasked
    /// Messages without effect, beyond the limit of a connection.
    case flood
    /// Messages over the limit.
    case tooLong = "too-long"
    /// Frames that violate the WebSocket protocol (RFC 6455).
    case brokenFrames = "broken-frames"
    /// Requests that the relay neither completes nor refuses.
    case unanswered
    /// Challenges (NIP-42) beyond the few that are allowed on a connection.
    case challenges
    /// The relay does not read the router's messages.
    case unread

    /// The violation that ended a connection; nil if there was none.
    init?(endOf failure: ConnectionError) {
        switch failure {
        case .protocolError: self = .brokenFrames
        case .tooLarge: self = .tooLong
        case .unread: self = .unread
        default: return nil
        }
    }

    /// The number of violations within an hour that count as misbehavior. Fewer may be accidental.
    package var tolerance: UInt64 {
        switch self {
        case .flood, .unread: 1
        case .brokenFrames: 2
        case .invalidEvents, .unanswered: 5
        case .malformed, .challenges, .tooLong: 10
        case .unasked: 20
        }
    }

    /// A phrase for people.
    package var words: String {
        switch self {
        case .malformed: "malformed messages"
        case .invalidEvents: "events with a wrong id or signature"
        case .unasked: "events without a subscription"
        case .flood: "floods of messages"
        case .tooLong: "messages that are too long"
        case .brokenFrames: "broken frames"
        case .unanswered: "requests without a response"
        case .challenges: "too many challenges"
        case .unread: "unread messages from the router"
        }
    }
}

/// A message from a relay. It is untrusted, so it is truncated and reduced to visible characters.
package struct RelayWords: Sendable, Hashable {
    private static let length = 200

    /// `NOTICE`, `CLOSED` or `OK`.
    package let command: String
    package let text: String
    package let at: Timestamp

    init(_ command: String, _ text: String, at: Timestamp) {
        self.command = command
        self.at = at
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(Self.length) {
            switch scalar.properties.generalCategory {
            // Control characters act on terminals; format characters, such as direction marks, mislead readers.
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                scalars.append(" ")
            default: scalars.append(scalar)
            }
        }
        let isCut = text.unicodeScalars.dropFirst(Self.length).first != nil
        self.text = String(scalars) + (isCut ? "…" : "")
    }
}

/// The behavior of one relay since the start. Pure: it has no clock.
package struct RelayBehavior: Sendable, Hashable {
    private static let wordsKept = 3
    private static let span: Duration = .hours(1)

    /// The number of events read from the relay.
    package private(set) var events: UInt64 = 0
    /// The number of subscriptions that it closed and events that it refused.
    package private(set) var refusals: UInt64 = 0
    package private(set) var violations: [RelayViolation: UInt64] = [:]
    /// The last messages, newest last.
    package private(set) var lastMessages: [RelayWords] = []
    private var hour = (start: Timestamp.distantPast, counts: [RelayViolation: UInt64]())
    private var loggedAt = Timestamp.distantPast

    package static func == (one: RelayBehavior, other: RelayBehavior) -> Bool {
        one.events == other.events && one.refusals == other.refusals && one.violations == other.violations
            && one.lastMessages == other.lastMessages
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(events)
        hasher.combine(violations)
    }

    /// Violations over the tolerance in the hour that includes `now`, most frequent first.
    package func misbehaviour(at now: Timestamp) -> [RelayViolation] {
        guard now - hour.start < Self.span else { return [] }
        return hour.counts.filter { $0.value >= $0.key.tolerance }
            .sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }.map(\.key)
    }

    mutating func received(_ count: Int) { events += UInt64(count) }

    mutating func said(_ words: RelayWords, isRefusal: Bool) {
        if isRefusal { refusals += 1 }
        // A relay that repeats one message does not displace the others.
        lastMessages.removeAll { $0.command == words.command && $0.text == words.text }
        lastMessages.append(words)
        if lastMessages.count > Self.wordsKept { lastMessages.removeFirst() }
    }

    /// Counts violations. Returns whether to notify the operator, which is once an hour.
    mutating func note(_ violation: RelayViolation, _ count: Int, now: Timestamp) -> Bool {
        guard count > 0 else { return false }
        // If the clock was set back, a new hour starts.
        if now - hour.start >= Self.span || now < hour.start { hour = (now, [:]) }
        violations[violation, default: 0] += UInt64(count)
        hour.counts[violation, default: 0] += UInt64(count)
        guard hour.counts[violation, default: 0] >= violation.tolerance,
            now - loggedAt >= Self.span || now < loggedAt
        else { return false }
        loggedAt = now
        return true
    }
}

/// The behavior of all relays since the start, including disconnected ones. Callable from any thread; updated once for
/// each socket read, not for each event.
package final class RelayViolationTable: Sendable {
    private struct State {
        var relays: [RelayURL: RelayBehavior] = [:]
        var totals: [RelayViolation: UInt64] = [:]
        /// The rate limit for log lines about users' relays, of which there may be thousands.
        var lines: TokenBucket
    }

    /// The maximum number of relays in the table. Violations of additional relays are counted only in the totals.
    private static let capacity = 20_000

    private let operators: Set<RelayURL>
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let state: Mutex<State>

    /// `operators` are the relays that the log may name.
    package init(operators: Set<RelayURL>, now: @escaping @Sendable () -> Timestamp, logger: Logger) {
        self.operators = operators
        self.now = now
        self.logger = logger
        let lines = TokenBucket(capacity: 30, perSecond: 30.0 / 3_600, now: now())
        state = Mutex(State(lines: lines))
    }

    package subscript(relay: RelayURL) -> RelayBehavior? { state.withLock { $0.relays[relay] } }

    /// The relays that currently misbehave, sorted.
    package var misbehaving: [RelayURL] {
        let now = now()
        return state.withLock { $0.relays.filter { !$0.value.misbehaviour(at: now).isEmpty }.keys.sorted() }
    }

    /// All violations since the start: by name for the operator's relays, and the sum for all others under nil.
    package var violations: [RelayURL?: [RelayViolation: UInt64]] {
        state.withLock { state in
            var violations: [RelayURL?: [RelayViolation: UInt64]] = [nil: state.totals]
            for relay in operators {
                let own = state.relays[relay]?.violations ?? [:]
                violations[relay] = own
                for (violation, count) in own { violations[nil]?[violation, default: 0] -= count }
            }
            return violations
        }
    }

    func received(_ count: Int, from relay: RelayURL) {
        change(relay) { $0.received(count) }
    }

    func said(_ command: String, _ text: String, isRefusal: Bool, by relay: RelayURL) {
        let words = RelayWords(command, text, at: now())
        change(relay) { $0.said(words, isRefusal: isRefusal) }
    }

    /// Counts violations of a relay, and logs them if they exceed the tolerance.
    package func note(_ violation: RelayViolation, _ count: Int = 1, by relay: RelayURL) {
        guard count > 0 else { return }
        let (now, isOperators) = (now(), operators.contains(relay))
        let shouldLog = state.withLock { state in
            state.totals[violation, default: 0] += UInt64(count)
            guard isOperators || state.relays[relay] != nil || state.relays.count < Self.capacity else { return false }
            guard state.relays[relay, default: RelayBehavior()].note(violation, count, now: now) else { return false }
            return isOperators || state.lines.take(at: now)
        }
        guard shouldLog else { return }
        // A user's list of relays is private.
        logger.warning(
            "A relay misbehaved",
            metadata: [
                "relay": isOperators ? "\(relay.text)" : "a user's relay", "reason": "\(violation.rawValue)",
                "what": "\(violation.words)", "remedy": "carillon relays list --misbehaving",
            ]
        )
    }

    private func change(_ relay: RelayURL, _ body: (inout RelayBehavior) -> Void) {
        state.withLock { state in
            guard state.relays[relay] != nil || state.relays.count < Self.capacity else { return }
            body(&state.relays[relay, default: RelayBehavior()])
        }
    }
}
