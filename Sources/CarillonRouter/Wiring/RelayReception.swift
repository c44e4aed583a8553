import AccountWatch
import Nostr
import Operations
import Pipeline
import RelayPool

/// Hands what relays send to the pipeline, and what was read of them to whoever decides what to read next.
struct RelayReception: RelayPoolDelegate {
    let intake: Intake
    let watch: AccountWatch
    let counts: RouterCounts
    let conduct: RelayConductBook
    /// Nil outside a cluster.
    let membership: ClusterMembership?

    func received(
        _ events: [[UInt8]],
        from relay: RelayURL,
        _ reading: Reading,
        completion: @escaping @Sendable ([Bool]) -> Void
    ) {
        // Whoever asked for them is one of these.
        if case .fetched = reading {
            membership?.intakes.learn(events)
            membership?.relays.found(events)
        }
        intake.submit(
            Submission(events: events, source: .relay(reading.relayReading)) { [conduct] verdicts in
                conduct.note(.invalidEvents, verdicts.count(where: \.result.isOffence), by: relay)
                completion(verdicts.map(\.result.isFinal))
            }
        )
    }

    func established(_ keys: [PublicKey], at relay: RelayURL) {
        watch.established(keys, at: relay)
    }

    func marked(_ relay: RelayURL, upTo moment: Int64) {
        watch.marked(relay, upTo: moment)
    }

    func couldNotRead(_ times: Int, at relay: RelayURL) {
        counts.couldNotRead(times)
    }
}

extension EventVerdict.Result {
    /// Whether a relay should not have passed on the event: a copy whose id or signature is wrong, or no event.
    fileprivate var isOffence: Bool {
        guard case .refused(let message) = self else { return false }
        return MachineReadablePrefix(of: message) == .invalid
    }
}

extension Reading {
    fileprivate var relayReading: RelayReading {
        switch self {
        case .live: .live
        case .stored: .stored
        case .baseline: .baseline
        case .fetched: .fetched
        }
    }
}

extension AccountWatch: HintObserver {}
