import Core
import HTTPClient
import Nostr

/// Takes what a ``RelayPool`` reads. Called on the relays' event loops; must not block.
package protocol RelayPoolDelegate: Sendable {
    /// Takes events, each the bytes of one JSON object, unverified. Calls `completion` once, on any thread, with
    /// whether each was dealt with; the others are read again. The pool stops reading from a relay while too much is
    /// outstanding.
    func received(
        _ events: [[UInt8]],
        from relay: RelayURL,
        _ reading: Reading,
        completion: @escaping @Sendable ([Bool]) -> Void
    )

    /// Everything that `relay` had stored for these keys was read and dealt with.
    func established(_ keys: [PublicKey], at relay: RelayURL)

    /// Everything that `relay` had for its established keys up to that moment, in seconds since 1970, was read and
    /// dealt with.
    func marked(_ relay: RelayURL, upTo moment: Int64)

    /// Events of `relay` may not have been read, so many times: once for each second with more events than the relay
    /// gives out, for each reading that was given up because it was too long, and for each message over the limit.
    func couldNotRead(_ times: Int, at relay: RelayURL)

    /// Up to when everything that `relay` had was read and dealt with before, in seconds since 1970; nil: never.
    func mark(of relay: RelayURL) -> Int64?

    /// Returns an inspector of one relay's live events, which looks at them before they are handed over; nil: all are
    /// handed over.
    func screening() -> (any EventScreening)?
}

/// How an event of a relay came to be read, which tells whether it is new.
package enum Reading: Sendable, Hashable {
    /// After the end of the stored events (NIP-01).
    case live
    /// Stored, and published while nobody listened: new as well.
    case stored
    /// Stored before the key was watched here: not new, only to be remembered.
    case baseline
    /// Asked for by ``RelayPool/fetch(_:from:within:completion:)``: not new.
    case fetched
}

/// What became of an event that was published at one relay.
package enum PublishResult: Sendable, Hashable {
    /// The relay has it.
    case accepted
    /// With the relay's words, which are not to be trusted or logged.
    case refused(message: String)
    /// The relay could not be connected to, or did not answer in time.
    case unanswered

    /// What an OK says (NIP-01); some relays refuse an event because they have it.
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
        /// Nobody needs it.
        case idle
        /// To be connected to at that moment, or as soon as other connections are open.
        case waiting(until: Timestamp)
        case connecting
        case connected
    }

    package let url: RelayURL
    package internal(set) var state = State.idle
    /// Whether we closed the connection only to open it anew, which takes a moment.
    package internal(set) var isRenewing = false
    /// Whether the configuration names it.
    package internal(set) var isOperators = false
    /// Keys watched there.
    package internal(set) var keys = 0
    /// Whether it is asked by kinds only, since the keys exceed what it allows.
    package internal(set) var isAskedByKind = false
    /// REQs sent since the relay was first needed.
    package internal(set) var requestsSent = 0
    /// Why the last connection ended or could not be opened.
    package internal(set) var lastFailure: ConnectionFailure?

    init(url: RelayURL) {
        self.url = url
    }

    /// Whether it can be asked for something: one whose connection is being renewed will answer in a moment.
    var isReachable: Bool { state == .connected || isRenewing }
}

extension RelayPool {
    /// How a pool connects and what it asks for.
    package struct Configuration: Sendable {
        /// Former keys of ours, whose registrations are read as well. Default: none.
        package var formerKeys: [PublicKey] = []
        /// Kinds that are asked for by the keys they name. Default: nil, every kind.
        package var addressedKinds: Set<Kind>?
        /// Further replaceable kinds that are asked for by author, such as contact lists (kind 3). Default: none.
        package var furtherLists: Set<Kind> = []
        /// How far back is read after an absence. Default: two days.
        package var catchUp: Duration = .days(2)
        /// A PEM file with roots to trust besides the system's. Default: none.
        package var caFile: String?
        /// Blocks in CIDR notation that users' URLs may lead to although they are not public, such as `10.1.2.0/24`.
        /// Default: none.
        package var allowPrivate: [String] = []
        /// Relays that may have private addresses and are retried forever, even if users name them. Default: only those
        /// that are kept.
        package var operators: Set<RelayURL> = []
        /// The most relays of users that the pool connects to; further ones are left out. Default: 10,000.
        package var maxRelays = 10_000
        package var limits = ConnectionLimits()
        package var pauses = ConnectionPauses()

        package init() {}
    }
}
