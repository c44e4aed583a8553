import Core
import HTTPClient
import Logging
import Nostr
import Operations
import Pipeline
import Registry
import Relays

/// One router's membership in a cluster. A router without a membership owns all accounts and reads all relays.
package protocol Membership: RouterPart, PartitionOwners {
    /// The lock on this member's store.
    var claim: StoreClaim { get }
    /// Closes while others may send in this member's place.
    var gate: RequestGate { get }
    /// The log of all changes of the registry.
    var registryLog: any RegistryLog { get }
    var relays: any SharedRelays { get }
    /// The other members.
    var peers: any Peers { get }
    /// Requests for notifications, as all members know them.
    var requests: any SharedRequests { get }
    /// The deliveries of the accounts that this member owns.
    var stores: [WorkingStore] { get }
    /// Whether it owns any account.
    var isServing: Bool { get }
    /// Whether sources must wait, because an owner has enough to do.
    var isFull: Bool { get }
    /// Nil once it has left.
    var figures: MemberFigures? { get }

    /// Whether this member has lately accepted an event for an account that it owns.
    func isCause(_ event: [UInt8]) -> Bool
    /// Problems of the state it shares with the other members.
    func issues(at now: Timestamp) -> [RouterStatus.Issue]

    /// Makes pushes for owned accounts with these parts from the start on. Calls `failed` when this member is too far
    /// behind the others and the router must start again.
    func work(with parts: OwnerParts, failed: @escaping @Sendable (any Error) -> Void)
    /// Answers the other members' questions, and shows them what happens here.
    func answer(by survey: MemberSurvey, _ stream: LiveStream)
    /// Takes over settings for owned accounts.
    func adopt(_ settings: PipelineSettings)
}

/// Relays that several routers divide: each relay is read by one of them.
package protocol SharedRelays: RelayFetching, AnyObject {
    var sharing: RelaySharing { get }
    func isHere(_ relay: RelayURL) -> Bool
    /// Events that a relay was asked for came in.
    func found(_ events: [[UInt8]])
    /// The relays of this router; nil: it reads none from now on.
    func serve(_ relays: Relays?)
}

/// The parts of a router that pipelines and couriers of single partitions share.
package struct OwnerParts: Sendable {
    package let stores: Stores
    package let settings: ActiveSettings
    package let outgoing: Outgoing
    package let dependencies: PipelineDependencies
    /// All but the observer that belongs to a partition.
    package let observers: RouterObservers
    package let now: @Sendable () -> Timestamp
    package let logger: Logger
}
