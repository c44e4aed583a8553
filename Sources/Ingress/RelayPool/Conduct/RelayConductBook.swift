import Logging
import NIOConcurrencyHelpers
import RateLimits
import Units

/// How all relays behaved since the start, also those that are not connected to any more. Callable from any thread;
/// told once for each read from a socket, not for each event.
package final class RelayConductBook: Sendable {
    private struct State {
        var relays: [RelayURL: RelayConduct] = [:]
        var totals: [RelayOffence: UInt64] = [:]
        /// Lines about users' relays: there may be thousands of them.
        var lines: TokenBucket
    }

    /// Relays in it at most; what is new beyond that is counted in sum only.
    private static let capacity = 20_000

    private let operators: Set<RelayURL>
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let state: NIOLockedValueBox<State>

    /// `operators` are the relays that may be named in the log.
    package init(operators: Set<RelayURL>, now: @escaping @Sendable () -> Timestamp, logger: Logger) {
        self.operators = operators
        self.now = now
        self.logger = logger
        let lines = TokenBucket(capacity: 30, perSecond: 30.0 / 3_600, now: now())
        state = NIOLockedValueBox(State(lines: lines))
    }

    package subscript(relay: RelayURL) -> RelayConduct? { state.withLockedValue { $0.relays[relay] } }

    /// Those that misbehave at this moment, sorted.
    package var misbehaving: [RelayURL] {
        let now = now()
        return state.withLockedValue { $0.relays.filter { !$0.value.misbehaviour(at: now).isEmpty }.keys.sorted() }
    }

    /// What relays did wrong since the start: the operator's by name, all others in sum, under nil.
    package var offences: [RelayURL?: [RelayOffence: UInt64]] {
        state.withLockedValue { state in
            var offences: [RelayURL?: [RelayOffence: UInt64]] = [nil: state.totals]
            for relay in operators {
                let own = state.relays[relay]?.offences ?? [:]
                offences[relay] = own
                for (offence, count) in own { offences[nil]?[offence, default: 0] -= count }
            }
            return offences
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
    package func note(_ offence: RelayOffence, _ count: Int = 1, by relay: RelayURL) {
        guard count > 0 else { return }
        let (now, isOperators) = (now(), operators.contains(relay))
        let isWorthALine = state.withLockedValue { state in
            state.totals[offence, default: 0] += UInt64(count)
            guard isOperators || state.relays[relay] != nil || state.relays.count < Self.capacity else { return false }
            guard state.relays[relay, default: RelayConduct()].note(offence, count, now: now) else { return false }
            return isOperators || state.lines.take(at: now)
        }
        guard isWorthALine else { return }
        // Which relays a user has is private.
        logger.warning(
            "A relay misbehaves",
            metadata: [
                "relay": isOperators ? "\(relay.text)" : "one of a user's", "reason": "\(offence.rawValue)",
                "what": "\(offence.words)", "remedy": "carillon relays list --misbehaving",
            ]
        )
    }

    private func change(_ relay: RelayURL, _ body: (inout RelayConduct) -> Void) {
        state.withLockedValue { state in
            guard state.relays[relay] != nil || state.relays.count < Self.capacity else { return }
            body(&state.relays[relay, default: RelayConduct()])
        }
    }
}
