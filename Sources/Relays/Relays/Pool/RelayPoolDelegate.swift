import Core
import HTTPClient
import Nostr

/// Takes the events that a ``RelayPool`` reads. Called on the relays' event loops; must not block.
package protocol RelayPoolDelegate: Sendable {
    /// Takes unverified events, each the bytes of one JSON object. Calls `completion` once, on any thread, with whether
    /// each was processed; the others are read again. The pool stops reading from a relay while too much is
    /// outstanding.
    func received(
        _ events: [[UInt8]],
        from relay: RelayURL,
        _ reading: Reading,
        completion: @escaping @Sendable ([Bool]) -> Void
    )

    /// Notes that all stored events of `relay` for these keys were read and processed.
    func established(_ keys: [PublicKey], at relay: RelayURL)

    /// Notes that all events of `relay` for its established keys up to that moment, in seconds since 1970, were read
    /// and processed.
    func marked(_ relay: RelayURL, upTo moment: Int64)

    /// Notes that events of `relay` may be unread. `times` counts each second with more events than the relay returns,
    /// each reading that was too long, and each message over the limit.
    func couldNotRead(_ times: Int, at relay: RelayURL)

    /// Returns the second, since 1970, up to which all events of `relay` were read and processed; nil: never.
    func mark(of relay: RelayURL) -> Int64?

    /// Returns a filter for one relay's live events that runs before they are passed on; nil: all are passed on.
    func prefilter() -> (any EventPrefilter)?
}

/// How an event was read from a relay, which determines whether it is new.
package enum Reading: Sendable, Hashable {
    /// Received after the end of the stored events (NIP-01).
    case live
    /// Stored, and published while the router was not connected: also new.
    case stored
    /// Stored before the key was watched here: not new, only remembered.
    case baseline
    /// Requested by ``RelayPool/fetch(_:from:within:completion:)``: not new.
    case fetched
}

/// The result of publishing an event at one relay.
package enum PublishResult: Sendable, Hashable {
    /// The relay has the event.
    case accepted
    /// With the relay's message, which is untrusted and must not be logged.
    case refused(message: String)
    /// The connection failed, or the relay did not respond in time.
    case unanswered

    /// Reads an OK (NIP-01). Some relays refuse an event because they have it.
    init(isAccepted: Bool, message: String?) {
        self =
            switch message {
            case nil: .unanswered
            case let message? where isAccepted || MachineReadablePrefix(of: message) == .duplicate: .accepted
            case let message?: .refused(message: message)
            }
    }
}

/// The state of one relay, for logs and tests.
package struct RelayStatus: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// The relay is not needed.
        case idle
        /// Connects at that moment, or as soon as other connections are open.
        case waiting(until: Timestamp)
        case connecting
        case connected
    }

    package let url: RelayURL
    package internal(set) var state = State.idle
    /// Whether the router closed the connection only to reconnect.
    package internal(set) var isRenewing = false
    /// Whether the configuration names it.
    package internal(set) var isOperators = false
    /// The number of keys watched there.
    package internal(set) var keys = 0
    /// Whether it is asked only by kind, because the keys exceed its limits.
    package internal(set) var isAskedByKind = false
    /// The number of REQs sent since the relay was first needed.
    package internal(set) var requestsSent = 0
    /// Why the last connection ended or could not be opened.
    package internal(set) var lastFailure: ConnectionError?

    init(url: RelayURL) {
        self.url = url
    }

    /// Whether it can serve fetches. A relay whose connection is being renewed responds soon.
    var isReachable: Bool { state == .connected || isRenewing }
}

extension RelayPool {
    /// The connection settings and requested kinds of a pool.
    package struct Configuration: Sendable {
        /// Former keys of the router, whose registrations are read too. Default: none.
        package var formerKeys: [PublicKey] = []
        /// Kinds that are requested by the keys they name. Default: nil, every kind.
        package var addressedKinds: Set<Kind>?
        /// Additional replaceable kinds that are requested by author, such as contact lists (kind 3). Default: none.
        package var furtherLists: Set<Kind> = []
        /// The maximum age of events that are read after a disconnection. Default: two days.
        package var catchUp: Duration = .days(2)
        /// A PEM file with roots to trust in addition to the system's. Default: none.
        package var caFile: String?
        /// Blocks in CIDR notation that users' URLs may resolve to although they are not public, such as `10.1.2.0/24`.
        /// Default: none.
        package var allowPrivate: [String] = []
        /// Relays that may have private addresses and are retried forever, even if users name them. Default: only those
        /// that are kept.
        package var operators: Set<RelayURL> = []
        /// The maximum number of users' relays that the pool connects to; additional ones are ignored. Default: 10,000.
        package var maxRelays = 10_000
        package var limits = ConnectionLimits()
        package var pauses = ConnectionPauses()

        package init() {}
    }
}
