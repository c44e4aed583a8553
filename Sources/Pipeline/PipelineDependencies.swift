import Core
import Delivery
import Logging
import Nostr
import Push
import Rules

import class Foundation.ProcessInfo

/// The parts that a pipeline uses. Optional parts may be nil.
package struct PipelineDependencies: Sendable {
    /// A proven key of `partner`, which a device of `account` registered as a partner, sent a fresh hint (kind 20062)
    /// at `moment`. Called on the pipeline's thread; must not block.
    package typealias HintHeard = @Sendable (_ account: PublicKey, _ partner: PublicKey, _ moment: Timestamp) -> Void

    /// Returns the id of a delivery, which is always the same for the same event and device.
    package var deliveryID: @Sendable (EventID, DeviceID) -> DeliveryID
    package var observer: any PipelineObserver
    package var now: @Sendable () -> Timestamp
    package var logger: Logger

    /// The number of threads that check signatures: one more than there are cores, so that each core has work while the
    /// pipeline's thread waits for the disk. With one core, checking ahead gains no time.
    package var threads: Int = {
        let cores = ProcessInfo.processInfo.activeProcessorCount
        return cores > 1 ? cores + 1 : 1
    }()
    /// Whether a string is the URL of the router's own socket, in any spelling (NIP-62).
    package var isOurRelay: @Sendable (String) -> Bool = { _ in false }
    /// If nil, registering requires no session, and requests to the router's key concern no account.
    package var remoteSigner: (any RemoteSigner)?
    /// If nil, no event waits for context.
    package var contextFetcher: (any ContextFetcher)?
    /// If nil, hints of partners are ignored.
    package var hintHeard: HintHeard?
    /// If nil, content that only the device may read is sent in its stricter form.
    package var sealer: (any NotificationSealer)?
    /// If set, this pipeline makes no pushes: it passes events about accounts to the owners.
    package var owners: (any PartitionOwners)?
    package var ruledEvents: RuledEventObserver?
    /// If nil, sources pass on even events that concern no account.
    package var screen: EventScreen?

    package init(
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> DeliveryID,
        observer: any PipelineObserver,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.deliveryID = deliveryID
        self.observer = observer
        self.now = now
        self.logger = logger
    }
}

/// The storage for a pipeline's deliveries.
package struct PipelineStorage {
    /// Writes deliveries, the events that must not notify again (``BatchWrite/causes``) and pace changes to disk, and
    /// starts the courier. Throws if that fails.
    package typealias Keep = ([Delivery], _ causes: [EventID], PaceChanges) throws -> Void

    let keep: Keep
    /// Events that were accepted before this process started.
    let accepted: [EventID]
    /// If nil, every push is sent immediately.
    let paceStore: Outbox?
    /// If nil, or without a pace store, the outbox always has capacity.
    let capacity: (any DeliveryCapacity)?

    package init(
        accepted: [EventID] = [],
        paceStore: Outbox? = nil,
        capacity: (any DeliveryCapacity)? = nil,
        keep: @escaping Keep
    ) {
        self.keep = keep
        self.accepted = accepted
        self.paceStore = paceStore
        self.capacity = capacity
    }
}

/// The NIP-46 sessions of clients with this router. Called on the pipeline's thread; must not block for long.
package protocol RemoteSigner: Sendable {
    /// Handles a verified request (kind 24133) to the router's key. Its content is still encrypted, and its answer is
    /// sent back to `source`.
    ///
    /// `register` takes the registration (kind 10062 or 30062) that such a request contains. It verifies the
    /// registration and returns after it is stored or refused. It must not be called after this function returns.
    func receive(_ event: Event, from source: EventSource, register: (Event) -> EventDecision.Result)

    /// Whether a verified registration that came as an event is accepted. False if registering requires a session and
    /// its author has none. Not called for deregistrations.
    func admits(_ registration: Event) -> Bool
}

/// Fetches from relays the context of notifications and decisions.
package protocol ContextFetcher: Sendable {
    /// Whether a relay can be asked now. If not, events do not wait.
    var isReachable: Bool { get }

    /// Requests profiles (kind 0), events, contact lists (kind 3) and other lists, including contact lists that settle
    /// `distances`. Returns immediately. Results go into the intake as ``RelayReading/fetched``. Calls `completion`
    /// once, on any thread, after the last result or when no more can arrive. `isAnswered` is whether any relay
    /// confirmed that it sent everything.
    func fetch(_ wants: ContextWants, completion: @escaping @Sendable (_ isAnswered: Bool) -> Void)
}

/// Encrypts notifications to devices (``Mode/sealed``). Called on the pipeline's thread; must not block for long.
package protocol NotificationSealer: Sendable {
    /// Returns the encrypted form of `notification`, which holds all content in clear text, in mode sealed. Only
    /// content that a push service may see stays readable. `id` is the delivery's id. Returns nil if sealing fails: the
    /// stricter form is sent then.
    func seal(_ notification: Notification, id: DeliveryID, for device: DeviceID) -> Notification?

    /// Returns a fingerprint of the key that notifications to `device` are sealed to. It does not reveal the key. Nil
    /// without a key.
    func keyMark(of device: DeviceID) -> Int64?
}

/// Receives events that rules decided about, so that other rules can be tested with them later. Called on the
/// pipeline's thread; must not block.
package struct RuledEventObserver: Sendable {
    /// Called for each verified event about accounts, whatever the rules decide. It may be called again if the disk
    /// refused.
    let decided: @Sendable (_ event: Event, _ accounts: [PublicKey]) -> Void
    /// Called when the author took events back.
    let withdrawn: @Sendable (Deletion) -> Void

    package init(
        decided: @escaping @Sendable (_ event: Event, _ accounts: [PublicKey]) -> Void,
        withdrawn: @escaping @Sendable (Deletion) -> Void
    ) {
        self.decided = decided
        self.withdrawn = withdrawn
    }
}

/// The operator's settings for events.
package struct PipelineSettings: Sendable {
    /// The maximum time that an event may be dated ahead of now, because senders' clocks can be minutes fast. A later
    /// event is refused and not remembered, because relays send it again.
    package static let clockTolerance: Duration = .minutes(15)

    package var rules: RuleBook
    /// Run in this order.
    package var filters: [EventFilter] = []
    /// The mode of devices whose registration asks for none.
    package var defaultMode: Mode = .wake
    /// The platforms whose transports encrypt notifications themselves, to keys of the registration.
    package var encryptingPlatforms: Set<String> = []
    /// The platforms whose transports always show a notification.
    package var showingPlatforms: Set<String> = []
    /// The time that an event waits for a name or a note in its texts. Zero disables waiting.
    package var contextWait: Duration = .milliseconds(1_500)
    /// The maximum number of waiting events. Additional events continue immediately without context.
    package var contextCapacity: Int = 10_000
    /// The file that stores names and notes; nil means memory only.
    package var contextPath: String?
    /// Whether names and notes are fetched and stored. If not, notifications use only their event.
    package var usesContext: Bool = true
    /// When and how often devices get pushes; nil means always immediately.
    package var pacing: PacingPolicy?
}

extension PipelineSettings {
    package init(rules: RuleBook) { self.init(rules: rules, filters: []) }
}
