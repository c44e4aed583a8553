import Core
import Delivery
import Logging
import Nostr
import Push

import class Foundation.ProcessInfo

/// The parts that a pipeline uses. Those that are nil may be missing.
package struct PipelineDependencies: Sendable {
    /// A proven key of `partner`, which a device of `account` names as one, sent a fresh hint at `moment` (kind 20062).
    /// Called on the pipeline's thread; must not block.
    package typealias HintHeard = @Sendable (_ account: PublicKey, _ partner: PublicKey, _ moment: Timestamp) -> Void

    /// Names a delivery, the same for the same event and device.
    package var deliveryID: @Sendable (EventID, DeviceID) -> DeliveryID
    package var observer: any PipelineObserver
    package var now: @Sendable () -> Timestamp
    package var logger: Logger

    /// Threads that check signatures at a time: one more than there are cores, so that each core has work while the
    /// pipeline's thread waits for the disk. With one core, checking ahead gains nothing.
    package var threads: Int = {
        let cores = ProcessInfo.processInfo.activeProcessorCount
        return cores > 1 ? cores + 1 : 1
    }()
    /// Whether that is our own socket's URL, in whatever spelling (NIP-62).
    package var isOurRelay: @Sendable (String) -> Bool = { _ in false }
    /// Without one, registering takes no session and requests to the router's key concern no account.
    package var remoteSigner: (any RemoteSigner)?
    /// Without one, no event waits for context.
    package var contextFetcher: (any ContextFetcher)?
    /// Without one, hints of partners are not taken and wake no device.
    package var hintHeard: HintHeard?
    /// Without one, what may only be seen sealed is sent in its stricter form.
    package var sealer: (any NotificationSealer)?
    /// With owners, this pipeline makes no pushes: what concerns accounts is theirs.
    package var owners: (any PartitionOwners)?
    package var ruledEvents: RuledEventObserver?
    /// Without one, sources hand over events that concern no account as well.
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

/// The disk that a pipeline's deliveries go to.
package struct PipelineStorage {
    /// Puts deliveries on disk, with the events that shall wake no device again (``Effects/causes``) and the changes of
    /// paces, and starts the courier, or throws.
    package typealias Keep = ([Delivery], _ causes: [EventID], PaceChanges) throws -> Void

    let keep: Keep
    /// Events that were accepted before this process began.
    let accepted: [EventID]
    /// Without one, every device is woken whenever there is something.
    let paceStore: (any PaceStore)?
    /// Without one, or without a pace store, the outbox always has capacity.
    let capacity: (any DeliveryCapacity)?

    package init(
        accepted: [EventID] = [],
        paceStore: (any PaceStore)? = nil,
        capacity: (any DeliveryCapacity)? = nil,
        keep: @escaping Keep
    ) {
        self.keep = keep
        self.accepted = accepted
        self.paceStore = paceStore
        self.capacity = capacity
    }
}

/// Holds the NIP-46 sessions of clients with this router. Called on the pipeline's thread; must not block for long.
package protocol RemoteSigner: Sendable {
    /// Takes a request (kind 24133) to the router's key, whose signature was verified. Its content is encrypted still,
    /// and its answer goes back to `source`.
    ///
    /// `register` takes the registration (kind 10062 or 30062) that such a request carries: it verifies it and answers
    /// when it is kept, or refused. Must be called before this returns, if at all.
    func receive(_ event: Event, from source: EventSource, register: (Event) -> EventVerdict.Result)

    /// Whether a verified registration that came as an event may be taken: not where registering takes a session and
    /// the author has none. Is not asked about deregistrations.
    func admits(_ registration: Event) -> Bool
}

/// Asks relays for what notifications refer to, and for what decisions depend on.
package protocol ContextFetcher: Sendable {
    /// Whether there is a relay to ask at this moment. Where there is none, no event waits.
    var isReachable: Bool { get }

    /// Asks for those profiles (kind 0), events, contact lists (kind 3) and other lists, and for contact lists that
    /// settle `distances`, and returns at once. What is found goes into the intake as ``RelayReading/fetched``. Calls
    /// `completion` once, on any thread, after the last of it is there, or when there is nothing more to hope for;
    /// `isAnswered` says whether any relay said that this was all.
    func fetch(_ wants: ContextWants, completion: @escaping @Sendable (_ isAnswered: Bool) -> Void)
}

/// Encrypts notifications to devices (``Mode/sealed``). Called on the pipeline's thread; must not block for long.
package protocol NotificationSealer: Sendable {
    /// The envelope around `notification`, which holds everything in the clear, for `device`: mode sealed, and no more
    /// of it readable than a push service may see. `id` is the delivery's. Nil when it cannot be sealed: the stricter
    /// form is sent then.
    func seal(_ notification: Notification, id: DeliveryID, for device: DeviceID) -> Notification?

    /// A mark that differs for each key that notifications to `device` were sealed to, and reveals nothing about it;
    /// nil without a key.
    func keyMark(of device: DeviceID) -> Int64?
}

/// Learns of events that rules decided about, so that other rules can be tried on them later. Called on the pipeline's
/// thread; must not block.
package struct RuledEventObserver: Sendable {
    /// A verified event that concerns those accounts, whatever the rules say. It may come again where the disk refused.
    let decided: @Sendable (_ event: Event, _ accounts: [PublicKey]) -> Void
    /// The author took events back.
    let withdrawn: @Sendable (Deletion) -> Void

    package init(
        decided: @escaping @Sendable (_ event: Event, _ accounts: [PublicKey]) -> Void,
        withdrawn: @escaping @Sendable (Deletion) -> Void
    ) {
        self.decided = decided
        self.withdrawn = withdrawn
    }
}
