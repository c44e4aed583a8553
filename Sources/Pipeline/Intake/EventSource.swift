import Nostr

/// Where an event came in, as far as the stages treat it differently.
package enum EventSource: Sendable {
    /// Our own socket, and who proved there to be whom (NIP-42). Every event is verified before it is answered, also one that
    /// concerns nobody: the answer must not tell who is registered here.
    case socket(authenticated: Set<PublicKey>)
    /// A stream of new events, which nobody answers: what concerns nobody is dropped unverified.
    case feed
    /// A relay, which nobody answers either.
    case relay(RelayReading)

    /// Whether somebody learns from the verdict whether the event concerned anybody.
    var isAnswered: Bool {
        if case .socket = self { true } else { false }
    }

    /// Whether what comes from there may wake anybody.
    var isNews: Bool {
        switch self {
        case .socket, .feed, .relay(.live), .relay(.stored): true
        case .relay(.baseline), .relay(.fetched): false
        }
    }

    /// How far behind now the date of an event may be that was made just now, in seconds. Senders' clocks are slow by minutes, so
    /// of what comes live its coming tells when it was made; of what was stored only its date does.
    var slownessOfClocks: Int64 {
        switch self {
        case .socket, .feed, .relay(.live): 600
        case .relay(.stored), .relay(.baseline), .relay(.fetched): 0
        }
    }
}
