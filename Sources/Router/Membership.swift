import Core
import HTTPClient
import Nostr
import Observability
import Operations
import Pipeline
import PluginHost
import Registry
import Relays
import RouterConfiguration

/// One router's membership in a cluster. A router without a membership owns all accounts and reads all relays.
package protocol Membership: RouterPart, PartitionOwners {
    /// The lock on this member's store.
    var claim: StoreClaim { get }
    /// The gate for outgoing requests. It closes while other members may send in this member's place.
    var gate: RequestGate { get }
    /// The log of all changes to the registry.
    var registryLog: any RegistryLog { get }
    var relays: any SharedRelays { get }
    /// The other members.
    var peers: any Peers { get }
    /// Requests for notifications, shared by all members.
    var requests: any SharedRequests { get }
    /// The stores of the partitions that this member owns.
    var stores: [WorkingStore] { get }
    /// Whether it owns any account.
    var isServing: Bool { get }
    /// Whether sources must wait, because an owner has too much queued.
    var isFull: Bool { get }
    /// Counts for status and metrics; nil once this member has left.
    var figures: MemberFigures? { get }

    /// Whether this member has recently accepted an event for an account that it owns.
    func isCause(_ event: [UInt8]) -> Bool
    /// Problems of the state that it shares with the other members.
    func issues(at now: Timestamp) -> [RouterStatus.Issue]

    /// Starts to make pushes for owned accounts with these parts. Calls `failed` if this member is too far behind the
    /// others, so that the router must restart.
    func work(with parts: OwnerParts, failed: @escaping @Sendable (any Error) -> Void)
    /// Answers the other members' requests, and sends them this member's live stream.
    func answer(by survey: MemberSurvey, _ stream: LiveStream)
    /// Applies new settings to the pipelines of owned accounts.
    func adopt(_ settings: PipelineSettings)
}

/// Relays that the members of a cluster divide among themselves: one member reads each relay.
package protocol SharedRelays: Sendable, AnyObject {
    var sharing: RelaySharing { get }
    func isHere(_ relay: RelayURL) -> Bool
    /// Asks the members that read `relays` for stored events; no relays: the operator's.
    func fetch(
        _ filters: [Filter],
        from relays: [RelayURL],
        within time: Duration,
        completion: @escaping @Sendable (_ isAnswered: Bool) -> Void
    )
    /// Receives events that were fetched from a relay.
    func found(_ events: [[UInt8]])
    /// Sets the relays of this router; nil: it reads none from now on.
    func serve(_ relays: Relays?)
}

/// The router's parts that the pipelines and couriers of single partitions share.
package struct OwnerParts: Sendable {
    package let registry: Registry
    package let transports: ActiveTransports
    /// The dependencies of each partition's pipeline.
    package let dependencies: PipelineDependencies
    /// All observers except those of a single partition.
    package let observers: RouterObservers
    private let settings: ActiveSettings
    private let plugins: PluginHost

    init(
        _ stores: Stores,
        _ settings: ActiveSettings,
        _ outgoing: Outgoing,
        _ dependencies: PipelineDependencies,
        _ observers: RouterObservers
    ) {
        (registry, self.settings, self.observers) = (stores.registry, settings, observers)
        (transports, plugins) = (outgoing.transports, outgoing.plugins)
        var dependencies = dependencies
        dependencies.observer = observers
        dependencies.ruledEvents = stores.keptEvents?.ofRules
        dependencies.threads = 1
        self.dependencies = dependencies
    }

    /// The maximum of waiting deliveries in one store.
    package var maxWaiting: Int { settings.configuration.store.maxWaiting }

    /// The active settings of pipelines.
    package var pipelineSettings: PipelineSettings { settings.pipeline(plugins.platformCatalog) }

    /// Decodes a request for notifications that another member received; nil if this member cannot read it.
    package func order(of request: [UInt8]) -> NotificationOrder? {
        Notifier.order(of: request, settings.rules, KnownPlatforms(plugins))
    }
}
