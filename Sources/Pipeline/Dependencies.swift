import Delivery
import Nostr
import Notifications
import Units

/// What a pipeline depends on beside its stages. Each may be missing.
package struct PipelineDependencies: Sendable {
    /// Without one, registering takes no session and requests to the router's key concern nobody.
    package var remoteSigner: (any RemoteSigner)?
    /// Without one, nothing waits for what is not at hand.
    package var contextFetcher: (any ContextFetcher)?
    /// Without one, hints of partners are not taken and wake nobody.
    package var hintObserver: (any HintObserver)?
    /// Without one, what may only be seen sealed goes out in its stricter form.
    package var sealer: (any NotificationSealer)?
    /// Without one, every device is woken whenever there is something.
    package var paceStore: (any PaceStore)?
    /// Without one, or without a pace store, the outbox always has capacity.
    package var capacity: (any DeliveryCapacity)?
    /// With owners, this pipeline makes no pushes: what concerns accounts is theirs.
    package var owners: (any PartitionOwners)?
    /// Without one, nobody remembers what rules decided about.
    package var ruledEvents: (any RuledEventObserver)?
    /// Without one, sources hand over events that concern nobody as well.
    package var screen: EventScreen?
    /// Whether that is our own socket's URL, in whatever spelling (NIP-62).
    package var isOurRelay: @Sendable (String) -> Bool

    package init(
        remoteSigner: (any RemoteSigner)? = nil,
        contextFetcher: (any ContextFetcher)? = nil,
        hintObserver: (any HintObserver)? = nil,
        sealer: (any NotificationSealer)? = nil,
        paceStore: (any PaceStore)? = nil,
        capacity: (any DeliveryCapacity)? = nil,
        owners: (any PartitionOwners)? = nil,
        ruledEvents: (any RuledEventObserver)? = nil,
        screen: EventScreen? = nil,
        isOurRelay: @escaping @Sendable (String) -> Bool = { _ in false }
    ) {
        self.remoteSigner = remoteSigner
        self.contextFetcher = contextFetcher
        self.hintObserver = hintObserver
        self.sealer = sealer
        self.paceStore = paceStore
        self.capacity = capacity
        self.owners = owners
        self.ruledEvents = ruledEvents
        self.screen = screen
        self.isOurRelay = isOurRelay
    }
}

/// Holds the NIP-46 sessions of clients with this router. Called on the pipeline's thread; must not block for long.
package protocol RemoteSigner: Sendable {
    /// Takes a request (kind 24133) to the router's key, whose signature was verified. Its content is encrypted still,
    /// and its answer goes back to `source`.
    ///
    /// `register` takes the registration (kind 10062 or 30062) that such a request carries: it verifies it and answers
    /// when it is kept, or refused. To be called before this returns, if at all.
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

/// Learns which partners are alive (seed 004, kind 20062). Called on the pipeline's thread; must not block.
package protocol HintObserver: Sendable {
    /// A proven key of `partner`, which a device of `account` names as one, sent a fresh hint. `moment` is when it
    /// came.
    func heard(account: PublicKey, partner: PublicKey, at moment: Timestamp)
}

/// Encrypts notifications to devices (``Mode/sealed``). Called on the pipeline's thread; must not block for long.
package protocol NotificationSealer: Sendable {
    /// The envelope around `notification`, which holds everything in the clear, for `device`: mode sealed, and no more
    /// of it readable than a push service may see. `id` is the delivery's. Nil when it cannot be sealed: the stricter
    /// form goes out then.
    func seal(_ notification: Notification, id: DeliveryID, for device: DeviceID) -> Notification?

    /// A mark that differs for each key that notifications to `device` were sealed to, and reveals nothing about it;
    /// nil without a key.
    func keyMark(of device: DeviceID) -> Int64?
}

/// Learns of events that rules decided about, so that other rules can be tried on them later. Called on the pipeline's
/// thread; must not block.
package protocol RuledEventObserver: Sendable {
    /// A verified event that concerns those accounts, whatever the rules say. It may come again where the disk refused.
    func decided(_ event: Event, for accounts: [PublicKey])

    /// The author took events back.
    func withdrawn(_ deletion: Deletion)
}
