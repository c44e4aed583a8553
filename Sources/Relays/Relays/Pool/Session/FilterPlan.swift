import Core
import Nostr

/// Turns the watched keys into filters (NIP-01).
struct FilterPlan: Sendable {
    static let registrations: Set<Kind> = [.pushRegistration, .addressablePushRegistration]
    /// Kinds that revoke registrations (NIP-09, NIP-62).
    static let deletions: Set<Kind> = [.deletion, .requestToVanish]
    /// How clients name these kinds in a deletion.
    static let registrationKindNames: Set<String> = Set(registrations.map { "\($0.rawValue)" })

    /// Kinds signed by the watched keys themselves: relay and device lists, registrations and the configured additional
    /// lists.
    let lists: Set<Kind>
    /// The requested kinds of gift wraps. They are dated back (NIP-59).
    let wraps: Set<Kind>
    /// Other kinds that are requested by the keys they name; nil: every kind.
    let addressedKinds: Set<Kind>?
    let wantsContactLists: Bool
    private let settings: SessionSettings

    init(_ settings: SessionSettings, withWraps: Bool) {
        self.settings = settings
        lists = Self.registrations.union([.relayList, .deviceList]).union(settings.furtherLists)
        let wraps: Set<Kind> = [.giftWrap, .ephemeralGiftWrap]
        self.wraps = withWraps ? wraps.intersection(settings.addressedKinds ?? wraps) : []
        addressedKinds = settings.addressedKinds?.subtracting(wraps)
        wantsContactLists = settings.addressedKinds?.contains(.contactList) ?? true
    }

    /// The same plan without gift wraps, for a relay that refuses the whole subscription because of them.
    var withoutWraps: FilterPlan { FilterPlan(settings, withWraps: false) }
    /// Whether any request remains without gift wraps.
    var canDoWithoutWraps: Bool { !wraps.isEmpty && addressedKinds != nil }

    /// Returns filters for new events of these keys; nil: of all keys. No stored events are wanted, but some relays do
    /// not understand a limit of 0.
    func live(addressed: [PublicKey]?, authored: [PublicKey]?, now: Timestamp) -> [Filter] {
        var filters: [Filter] = []
        let begin = now - settings.slack
        if addressed.map({ !$0.isEmpty }) ?? true {
            let since = (wraps.isEmpty ? begin : begin - settings.wrapSpread).seconds
            let kinds = addressedKinds?.union(wraps).union([.deletion])
            filters.append(Filter(kinds: kinds, tags: Self.naming(addressed), since: since, limit: 1))
        }
        if authored.map({ !$0.isEmpty }) ?? true {
            let kinds = lists.union(Self.deletions)
            filters.append(Filter(authors: authored.map { Set($0) }, kinds: kinds, limit: 1))
        }
        return filters
    }

    /// Returns the stages that read events stored for established keys while the router was not connected.
    func catchUp(_ entries: [KeyEntry], since: Int64) -> [SweepStage] {
        var stages: [SweepStage] = []
        let named = Self.naming(entries.keys(.addressed))
        if !named.isEmpty {
            if addressedKinds?.isEmpty != true {
                stages.append(stage(Filter(kinds: addressedKinds, tags: named, since: since), .stored))
            }
            if !wraps.isEmpty {
                let since = since - (settings.wrapSpread + settings.slack).seconds
                stages.append(stage(Filter(kinds: wraps, tags: named, since: max(0, since)), .stored))
            }
        }
        let authors = entries.keys(.authored)
        if !authors.isEmpty {
            let kinds = lists.union(Self.deletions)
            stages.append(stage(Filter(authors: Set(authors), kinds: kinds, since: since), .stored))
        }
        return stages
    }

    /// Returns the stages that read stored events of keys for which nothing was read before. A gift wrap dated before
    /// the watch started may be old, so it does not count as new. Events older than `horizon`, in seconds, are never
    /// new.
    func beginning(_ entries: [KeyEntry], notBefore horizon: Int64) -> [SweepStage] {
        var stages: [SweepStage] = []
        let authors = entries.keys(.authored)
        if !authors.isEmpty {
            stages.append(stage(Filter(authors: Set(authors), kinds: lists.union([.requestToVanish])), .stored))
            // Users delete a lot. Only stored deletions of registrations matter.
            let tags: [Character: Set<String>] = ["k": Self.registrationKindNames]
            stages.append(stage(Filter(authors: Set(authors), kinds: [.deletion], tags: tags), .stored))
        }
        let addressed = entries.filter { $0.interest.contains(.addressed) }
        if let first = addressed.map(\.since).min().map(Int64.init),
            let last = addressed.map(\.since).max().map(Int64.init)
        {
            let named = Self.naming(addressed.map(\.key))
            if addressedKinds?.isEmpty != true {
                stages.append(stage(Filter(kinds: addressedKinds, tags: named, since: max(first, horizon)), .stored))
            }
            if !wraps.isEmpty {
                let since = max(0, first - (settings.wrapSpread + settings.slack).seconds)
                // If every kind is requested, that stage included later gift wraps.
                let until = addressedKinds == nil ? last - 1 : nil
                let filter = Filter(kinds: wraps, tags: named, since: since, until: until)
                stages.append(SweepStage(filter: filter, reading: .stored, newFrom: last, pages: settings.pages))
            }
            if wantsContactLists {
                let filter = Filter(kinds: [.contactList], tags: named, until: first - 1)
                stages.append(SweepStage(filter: filter, reading: .baseline, pages: settings.contactPages))
            }
        }
        return stages
    }

    /// Returns how many keys fit into one filter of a message of that length with that number of filters.
    static func keys(inMessageOf length: Int, filters: Int, atMost limit: Int) -> Int {
        min(limit, max(1, (length - 1_024) / (keyLength * filters)))
    }

    /// Returns the maximum length of a REQ for new events of that number of keys.
    static func length(ofLive keys: Int) -> Int { 512 + liveFilters * keyLength * keys }

    /// The number of filters for new events: one for the named keys, one for the authors.
    static let liveFilters = 2
    /// The length of a key with quotes and a comma.
    static let keyLength = 67

    private func stage(_ filter: Filter, _ reading: Reading) -> SweepStage {
        SweepStage(filter: filter, reading: reading, pages: settings.pages)
    }

    private static func naming(_ keys: [PublicKey]?) -> [Character: Set<String>] {
        guard let keys, !keys.isEmpty else { return [:] }
        return ["p": Set(keys.map(\.hex))]
    }
}

extension [KeyEntry] {
    /// Returns the keys that are watched in that way.
    func keys(_ interest: Watched.Interest) -> [PublicKey] {
        compactMap { $0.interest.contains(interest) ? $0.key : nil }
    }
}

extension Filter {
    /// A generous estimate of the length of its JSON in bytes.
    var estimatedLength: Int {
        let quotes = 3
        let keys = (ids?.count ?? 0) + (authors?.count ?? 0)
        let values = tags.values.reduce(0) { sum, values in sum + values.reduce(8) { $0 + $1.utf8.count + quotes } }
        return 120 + keys * FilterPlan.keyLength + values + (kinds?.count ?? 0) * 6
    }
}

/// The kinds and keys that a ``RelaySession`` requests, and its limits and timeouts.
struct SessionSettings: Sendable {
    /// The keys to which clients address registrations and requests of remote signing.
    var ownKeys: [PublicKey]
    /// Kinds that are requested by the keys they name; nil: every kind.
    var addressedKinds: Set<Kind>?
    /// Additional replaceable kinds that are requested by author.
    var furtherLists: Set<Kind> = []
    /// The two sets above, as rules and filters determine them.
    var requestedKinds: RequestedKinds {
        get { RequestedKinds(addressedKinds: addressedKinds, furtherLists: furtherLists) }
        set {
            addressedKinds = newValue.addressedKinds
            furtherLists = newValue.furtherLists
        }
    }

    /// The maximum age of events that are read after a disconnection.
    var catchUp: Duration = .days(2)
    /// How long before a moment the reading starts, because clocks differ and events take time to arrive.
    var slack: Duration = .minutes(15)
    /// The maximum time that gift wraps are dated back (NIP-59).
    var wrapSpread: Duration = .days(2)
    /// The maximum number of keys in one filter.
    var keysPerFilter = 1_000
    /// The maximum bytes of filters that are open at one relay. If the keys need more, the router asks by kind, without
    /// naming keys.
    ///
    /// A relay compares each event with all filters and holds them in memory. The default is half of what the relay of
    /// nostr-sdk allows a connection, a fair share at relays that publish no limit. It holds some 2,900 keys.
    var openBytes: ByteCount = .kibibytes(512)
    /// The number of events requested with one page.
    var pageLimit = 500
    /// The maximum number of pages that are read of one filter.
    var pages = 1_000
    /// The maximum number of pages of contact lists. They only show which follows are old.
    var contactPages = 20
    /// The maximum number of pages of registrations that may name any router.
    var registrationPages = 40
    /// The maximum number of concurrent catch-up subscriptions.
    var sweepsAtOnce = 2
    /// The maximum number of REQs in a burst.
    var requestBurst: Double = 10
    /// The sustained rate of REQs per second.
    var requestsPerSecond: Double = 5
    /// The timeout for the end of stored events while no event arrives.
    var answer: Duration = .seconds(30)
    /// The pause after a first failure. It doubles with each failure that follows.
    var firstPause: Duration = .seconds(10)
    /// The maximum pause.
    var longestPause: Duration = .minutes(10)
    /// The pause before the router retries a subscription that the relay refuses.
    var rest: Duration = .hours(1)
    /// The time between two polls of keys that exceed the relay's limits, if the relay refuses requests by kind.
    var pollInterval: Duration = .minutes(2)
    /// The time between two marks.
    var markInterval: Duration = .seconds(30)
    /// The minimum time between two replacements of one subscription.
    var replacementInterval: Duration = .seconds(1)
    /// The sustained rate of replacing one subscription, in bytes. While keys are added to a full chunk continuously,
    /// it is sent again every four seconds.
    var replacementBytesPerSecond = 32_768
    /// How long a limit that was guessed from refusals applies.
    var guessLifetime: Duration = .days(1)
    /// How long a key that is no longer watched may stay in its subscription.
    var removalDelay: Duration = .minutes(1)

    init(ownKeys: [PublicKey]) {
        self.ownKeys = ownKeys
    }

    /// Returns the pause after that number of failures.
    func pause(after failures: Int) -> Duration {
        min(longestPause, firstPause * (1 << min(failures, 20)))
    }
}
