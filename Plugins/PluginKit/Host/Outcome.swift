internal import CarillonABI
import Core
import Synchronization

/// How one attempt to deliver ended.
public struct Outcome: Sendable, Hashable {
    /// How an attempt ended; each kind forces what happens to the device and to the queue.
    public enum Kind: Sendable, Hashable {
        /// The push service accepted the message.
        case delivered
        /// The push service says this registration is dead: the router forgets it.
        case gone
        /// This message can never be accepted: the router drops it.
        case rejected
        /// Transient, and every network error: the router tries again.
        case retry
        /// The operator's credentials are bad: the router pauses the transport and says so.
        case misconfigured

        var abi: carillon_outcome_kind {
            switch self {
            case .delivered: .CARILLON_DELIVERED
            case .gone: .CARILLON_GONE
            case .rejected: .CARILLON_REJECTED
            case .retry: .CARILLON_RETRY
            case .misconfigured: .CARILLON_MISCONFIGURED
            }
        }
    }

    /// The part of the traffic that a ``Kind/retry`` holds up.
    public enum Scope: Sendable, Hashable {
        /// With a time to wait, and where users choose the endpoint: its host; else the device.
        case usual
        case device
        /// Everything that goes to the host in the registration's token.
        case host
        /// Everything that this transport sends: a quota of the whole app is used up.
        case transport

        var abi: carillon_scope {
            switch self {
            case .usual: .CARILLON_SCOPE_DEFAULT
            case .device: .CARILLON_SCOPE_DEVICE
            case .host: .CARILLON_SCOPE_HOST
            case .transport: .CARILLON_SCOPE_TRANSPORT
            }
        }
    }

    /// How the attempt ended.
    public var kind: Kind
    /// The push service's HTTP status, or 0.
    public var status: UInt32
    /// How long the push service asked us to wait; zero: the router decides.
    public var retryAfter: Duration
    /// One word of a small fixed set, since it labels a metric: at most 40 of a-z, 0-9 and `-`.
    public var reason: String
    /// The part of the traffic that a retry holds up; without meaning for other kinds.
    public var scope: Scope

    /// Makes an outcome; the static members name the usual ones.
    public init(_ kind: Kind, status: UInt32 = 0, retryAfter: Duration = .zero, reason: String, scope: Scope = .usual) {
        self.kind = kind
        self.status = status
        self.retryAfter = retryAfter
        self.reason = reason
        self.scope = scope
    }
}

/// The promise to end one delivery. The first ``complete(_:)`` counts, later ones do nothing, and a ticket that nobody
/// holds any more without having completed it ends as a retry: so every accepted delivery ends exactly once.
public final class Ticket: Sendable {
    /// What the host calls it; never repeats.
    public let number: UInt64
    private let host: Host
    private let isOpen = Atomic(true)

    package init(_ number: UInt64, host: Host) {
        self.number = number
        self.host = host
    }

    deinit {
        complete(Outcome(.retry, reason: "abandoned"))
    }

    /// Ends the delivery.
    public func complete(_ outcome: Outcome) {
        guard close() else { return }
        host.complete(number, outcome)
    }

    /// Whether it was completed, or withdrawn.
    var isCompleted: Bool { !isOpen.load(ordering: .acquiring) }

    /// Closes the ticket of a delivery that was not accepted; false when it was completed already.
    func withdraw() -> Bool { close() }

    private func close() -> Bool {
        isOpen.exchange(false, ordering: .acquiringAndReleasing)
    }
}
