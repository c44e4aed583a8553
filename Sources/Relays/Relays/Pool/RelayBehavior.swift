import Core
import Logging
import Synchronization

/// What a relay does wrong. One word of a small fixed set, for logs and a metric's label.
package enum RelayViolation: String, Sendable, Hashable, CaseIterable {
    /// Messages that are none (NIP-01).
    case malformed
    /// Events whose id or signature is wrong, or which are no events.
    case invalidEvents = "invalid-events"
    /// Events on subscriptions that we never opened.
    case unasked
    /// Messages without effect, beyond what one connection may bring.
    case flood
    /// Messages over the limit.
    case tooLong = "too-long"
    /// Frames that break the rules of WebSocket (RFC 6455).
    case brokenFrames = "broken-frames"
    /// Requests that it neither answers to the end nor refuses.
    case unanswered
    /// Challenges (NIP-42) beyond the few that a connection takes.
    case challenges
    /// It does not read what is sent to it.
    case unread

    /// The violation that a connection's end is; nil where it is none.
    init?(endOf failure: ConnectionFailure) {
        switch failure {
        case .protocolError: self = .brokenFrames
        case .tooLarge: self = .tooLong
        case .unread: self = .unread
        default: return nil
        }
    }

    /// With so many within an hour a relay misbehaves; fewer may be an accident.
    package var tolerance: UInt64 {
        switch self {
        case .flood, .unread: 1
        case .brokenFrames: 2
        case .invalidEvents, .unanswered: 5
        case .malformed, .challenges, .tooLong: 10
        case .unasked: 20
        }
    }

    /// For people.
    package var words: String {
        switch self {
        case .malformed: "malformed messages"
        case .invalidEvents: "events with a wrong id or signature"
        case .unasked: "events that nobody asked for"
        case .flood: "floods of messages"
        case .tooLong: "messages that are too long"
        case .brokenFrames: "broken frames"
        case .unanswered: "requests without an answer"
        case .challenges: "too many challenges"
        case .unread: "messages of ours that it does not read"
        }
    }
}

/// Words of a relay, which are not to be trusted: cut, and without anything but visible characters.
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
            // Terminals act on the first sort and are fooled by the second, among which are marks for direction.
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                scalars.append(" ")
            default: scalars.append(scalar)
            }
        }
        let isCut = text.unicodeScalars.dropFirst(Self.length).first != nil
        self.text = String(scalars) + (isCut ? "…" : "")
    }
}

/// How one relay behaved since the start. Pure: knows no clock.
package struct RelayBehavior: Sendable, Hashable {
    private static let wordsKept = 3
    private static let span: Duration = .hours(1)

    /// Events that were read from it.
    package private(set) var events: UInt64 = 0
    /// Subscriptions that it closed, and events that it did not take.
    package private(set) var refusals: UInt64 = 0
    package private(set) var violations: [RelayViolation: UInt64] = [:]
    /// The last ones, the newest last.
    package private(set) var lastWords: [RelayWords] = []
    private var hour = (start: Timestamp.distantPast, counts: [RelayViolation: UInt64]())
    private var toldAt = Timestamp.distantPast

    package static func == (one: RelayBehavior, other: RelayBehavior) -> Bool {
        one.events == other.events && one.refusals == other.refusals && one.violations == other.violations
            && one.lastWords == other.lastWords
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(events)
        hasher.combine(violations)
    }

    /// What it does beyond what is tolerated, in the hour that runs at `now`; the most frequent first.
    package func misbehaviour(at now: Timestamp) -> [RelayViolation] {
        guard now - hour.start < Self.span else { return [] }
        return hour.counts.filter { $0.value >= $0.key.tolerance }
            .sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }.map(\.key)
    }

    mutating func received(_ count: Int) { events += UInt64(count) }

    mutating func said(_ words: RelayWords, isRefusal: Bool) {
        if isRefusal { refusals += 1 }
        // A relay that says the same over and over does not drive out everything else.
        lastWords.removeAll { $0.command == words.command && $0.text == words.text }
        lastWords.append(words)
        if lastWords.count > Self.wordsKept { lastWords.removeFirst() }
    }

    /// Counts what it did wrong. Returns whether an operator is to be told, which is once an hour.
    mutating func note(_ violation: RelayViolation, _ count: Int, now: Timestamp) -> Bool {
        guard count > 0 else { return false }
        // A clock that went back begins anew.
        if now - hour.start >= Self.span || now < hour.start { hour = (now, [:]) }
        violations[violation, default: 0] += UInt64(count)
        hour.counts[violation, default: 0] += UInt64(count)
        guard hour.counts[violation, default: 0] >= violation.tolerance,
            now - toldAt >= Self.span || now < toldAt
        else { return false }
        toldAt = now
        return true
    }
}

/// How all relays behaved since the start, also those that are not connected to any more. Callable from any thread;
/// told once for each read from a socket, not for each event.
package final class RelayViolationTable: Sendable {
    private struct State {
        var relays: [RelayURL: RelayBehavior] = [:]
        var totals: [RelayViolation: UInt64] = [:]
        /// Lines about users' relays: there may be thousands of them.
        var lines: TokenBucket
    }

    /// Relays in it at most; what is new beyond that is counted in sum only.
    private static let capacity = 20_000

    private let operators: Set<RelayURL>
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let state: Mutex<State>

    /// `operators` are the relays that may be named in the log.
    package init(operators: Set<RelayURL>, now: @escaping @Sendable () -> Timestamp, logger: Logger) {
        self.operators = operators
        self.now = now
        self.logger = logger
        let lines = TokenBucket(capacity: 30, perSecond: 30.0 / 3_600, now: now())
        state = Mutex(State(lines: lines))
    }

    package subscript(relay: RelayURL) -> RelayBehavior? { state.withLock { $0.relays[relay] } }

    /// Those that misbehave at this moment, sorted.
    package var misbehaving: [RelayURL] {
        let now = now()
        return state.withLock { $0.relays.filter { !$0.value.misbehaviour(at: now).isEmpty }.keys.sorted() }
    }

    /// What relays did wrong since the start: the operator's by name, all others in sum, under nil.
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

    /// Counts what a relay did wrong, and says so in the log where it is no accident any more.
    package func note(_ violation: RelayViolation, _ count: Int = 1, by relay: RelayURL) {
        guard count > 0 else { return }
        let (now, isOperators) = (now(), operators.contains(relay))
        let isWorthALine = state.withLock { state in
            state.totals[violation, default: 0] += UInt64(count)
            guard isOperators || state.relays[relay] != nil || state.relays.count < Self.capacity else { return false }
            guard state.relays[relay, default: RelayBehavior()].note(violation, count, now: now) else { return false }
            return isOperators || state.lines.take(at: now)
        }
        guard isWorthALine else { return }
        // Which relays a user has is private.
        logger.warning(
            "A relay misbehaves",
            metadata: [
                "relay": isOperators ? "\(relay.text)" : "one of a user's", "reason": "\(violation.rawValue)",
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
