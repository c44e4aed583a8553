import Nostr
import Units

/// What a ``RelaySession`` asks a relay for, and how hard.
struct SessionSettings: Sendable {
    /// The keys to which registrations and requests of remote signing are addressed.
    var ownKeys: [PublicKey]
    /// Kinds that are asked for by the keys they name; nil: every kind.
    var addressedKinds: Set<Kind>?
    /// Further replaceable kinds that are asked for by author.
    var furtherLists: Set<Kind> = []
    /// What rules and filters make of the two above.
    var requestedKinds: RequestedKinds {
        get { RequestedKinds(addressedKinds: addressedKinds, furtherLists: furtherLists) }
        set {
            addressedKinds = newValue.addressedKinds
            furtherLists = newValue.furtherLists
        }
    }

    /// How far back is read after an absence.
    var catchUp: Duration = .days(2)
    /// How much before a moment reading begins, since clocks differ and events travel.
    var slack: Duration = .minutes(15)
    /// How far back gift wraps are dated at most (NIP-59).
    var wrapSpread: Duration = .days(2)
    /// Keys in one filter at most.
    var keysPerFilter = 1_000
    /// Bytes of filters that are open at one relay at most; of more keys than fit in, nobody is asked for by name, only
    /// kinds are.
    ///
    /// A relay compares each event it gets with all of that, and holds it in memory: half of what the relay of
    /// nostr-sdk gives a connection is what a guest may take who was not told how much there is. Some 2,900 keys fit
    /// in.
    var openBytes: ByteCount = .kibibytes(512)
    /// Events asked for at once.
    var pageLimit = 500
    /// Pages of one filter that are read at most.
    var pages = 1_000
    /// Pages of contact lists that are read at most. They only show which follows are old.
    var contactPages = 20
    /// Pages of registrations that are read at most of those that name anybody as their router.
    var registrationPages = 40
    /// Catch-up subscriptions that are open at the same time.
    var sweepsAtOnce = 2
    /// REQs that may be sent at once.
    var requestBurst: Double = 10
    /// REQs a second, over time.
    var requestsPerSecond: Double = 5
    /// How long the end of stored events may keep us waiting while nothing comes.
    var answer: Duration = .seconds(30)
    /// After a first failure; it doubles with each that follows.
    var firstPause: Duration = .seconds(10)
    /// The longest pause that doubling leads to.
    var longestPause: Duration = .minutes(10)
    /// How long a subscription is given up that the relay will not have.
    var rest: Duration = .hours(1)
    /// Between two readings for keys that exceed what the relay allows, where it will not be asked by kind.
    var pollInterval: Duration = .minutes(2)
    /// Between two marks.
    var markInterval: Duration = .seconds(30)
    /// Between two replacements of one subscription.
    var replacementInterval: Duration = .seconds(1)
    /// What replacements of one subscription take over time: while keys are added to a full chunk all the time, it is
    /// sent again every four seconds.
    var replacementBytesPerSecond = 32_768
    /// How long a limit holds that was only guessed from refusals.
    var guessLifetime: Duration = .days(1)
    /// How long a key that is no longer watched may remain in its subscription.
    var removalDelay: Duration = .minutes(1)

    init(ownKeys: [PublicKey]) {
        self.ownKeys = ownKeys
    }

    /// How long to wait after so many failures before.
    func pause(after failures: Int) -> Duration {
        min(longestPause, firstPause * (1 << min(failures, 20)))
    }
}
