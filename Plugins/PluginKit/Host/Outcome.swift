internal import CarillonABI
import Core
import Synchronization

/// The result of one delivery attempt, like `Outcome(.retry, status: 429, retryAfter: .seconds(30), reason: "busy")`.
public struct Outcome: Sendable, Hashable {
    /// The kind of result, which determines the router's action.
    public enum Kind: Sendable, Hashable {
        /// The push service accepted the message.
        case delivered
        /// The registration no longer exists at the push service: the router removes it.
        case gone
        /// The push service will never accept this message: the router drops it.
        case rejected
        /// A transient error, or any network error: the router retries.
        case retry
        /// The operator's credentials are bad: the router pauses the transport and reports it.
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

    /// The pushes that a ``Kind/retry`` delays.
    public enum Scope: Sendable, Hashable {
        /// ``host`` if users choose the endpoint, and a delay is set or the status is 429; otherwise ``device``.
        case usual
        case device
        /// All pushes to the host in the registration's token.
        case host
        /// All pushes of this transport: a quota of the whole app is used up.
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

    public var kind: Kind
    /// The push service's HTTP status, or 0.
    public var status: UInt32
    /// The delay that the push service asked for. Zero: the router decides.
    public var retryAfter: Duration
    /// One word of a small fixed set, because it labels a metric: up to 40 of a-z, 0-9 and `-`.
    public var reason: String
    /// The pushes that a retry delays; ignored for other kinds.
    public var scope: Scope

    /// Makes an outcome; `retryAfter` and `scope` matter only for a ``Kind/retry``.
    public init(_ kind: Kind, status: UInt32 = 0, retryAfter: Duration = .zero, reason: String, scope: Scope = .usual) {
        self.kind = kind
        self.status = status
        self.retryAfter = retryAfter
        self.reason = reason
        self.scope = scope
    }
}

/// The obligation to complete one delivery. Only the first ``complete(_:)`` counts. A ticket that is released without
/// being completed ends as a retry, so every accepted delivery ends exactly once.
public final class Ticket: Sendable {
    /// The host's number for it, which never repeats.
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

    public func complete(_ outcome: Outcome) {
        guard close() else { return }
        host.complete(number, outcome)
    }

    /// Whether it was completed or withdrawn.
    var isCompleted: Bool { !isOpen.load(ordering: .acquiring) }

    /// Closes the ticket of a delivery that was not accepted. Returns false if it was completed already.
    func withdraw() -> Bool { close() }

    private func close() -> Bool {
        isOpen.exchange(false, ordering: .acquiringAndReleasing)
    }
}
