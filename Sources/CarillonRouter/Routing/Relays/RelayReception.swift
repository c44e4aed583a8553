import AccountWatch
import Logging
import Nostr
import Pipeline
import RelayPool

/// Hands what relays send to the pipeline, and what was read of them to whoever decides what to read next.
struct RelayReception: RelayPoolDelegate {
    let intake: Intake
    let watch: AccountWatch
    /// The relays that the configuration names. Users' are not named in logs.
    let operators: Set<RelayURL>
    let logger: Logger

    func received(
        _ events: [[UInt8]],
        from relay: RelayURL,
        _ reading: Reading,
        completion: @escaping @Sendable ([Bool]) -> Void
    ) {
        intake.submit(
            Submission(events: events, source: .relay(reading.relayReading)) { verdicts in
                completion(verdicts.map(\.result.isFinal))
            }
        )
    }

    func established(_ keys: [PublicKey], at relay: RelayURL) {
        logger.debug("Read what a relay had stored", metadata: ["keys": "\(keys.count)", "relay": "\(name(relay))"])
        watch.established(keys, at: relay)
    }

    func marked(_ relay: RelayURL, upTo moment: Int64) {
        watch.marked(relay, upTo: moment)
    }

    private func name(_ relay: RelayURL) -> String {
        operators.contains(relay) ? relay.text : "one of a user's"
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
