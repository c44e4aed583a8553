import Core
import Nostr

/// Turns what is watched into filters (NIP-01).
struct FilterPlan: Sendable {
    static let registrations: Set<Kind> = [.pushRegistration, .addressablePushRegistration]
    /// Kinds that take registrations back (NIP-09, NIP-62).
    static let deletions: Set<Kind> = [.deletion, .requestToVanish]
    /// How clients name these kinds in a deletion.
    static let registrationKindNames: Set<String> = Set(registrations.map { "\($0.rawValue)" })

    /// Kinds signed by the watched keys themselves: relay and device lists, registrations and whatever else is wanted.
    let lists: Set<Kind>
    /// Kinds of gift wraps that are asked for. They are dated back (NIP-59).
    let wraps: Set<Kind>
    /// Other kinds that are asked for by the keys they name; nil: every kind.
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

    /// The same for a relay that would rather give nothing than gift wraps.
    var withoutWraps: FilterPlan { FilterPlan(settings, withWraps: false) }
    /// Whether anything is left to ask for without gift wraps.
    var canDoWithoutWraps: Bool { !wraps.isEmpty && addressedKinds != nil }

    /// New events for these keys; nil: for everybody. Stored events are not wanted, but not every relay understands a
    /// limit of 0.
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

    /// What was stored for established keys while nobody listened.
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

    /// What is stored for keys for which nothing was read before. A gift wrap dated before the watch began may be old,
    /// so it does not count as new. Nothing older than `horizon`, in seconds, is new.
    func beginning(_ entries: [KeyEntry], notBefore horizon: Int64) -> [SweepStage] {
        var stages: [SweepStage] = []
        let authors = entries.keys(.authored)
        if !authors.isEmpty {
            stages.append(stage(Filter(authors: Set(authors), kinds: lists.union([.requestToVanish])), .stored))
            // People delete much. Of stored deletions, only those of registrations matter.
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
                // Where every kind is asked for, later gift wraps were among those.
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

    /// Keys that fit into one filter of a message of that length, if it holds so many filters.
    static func keys(inMessageOf length: Int, filters: Int, atMost limit: Int) -> Int {
        min(limit, max(1, (length - 1_024) / (keyLength * filters)))
    }

    /// The longest REQ for new events of so many keys.
    static func length(ofLive keys: Int) -> Int { 512 + liveFilters * keyLength * keys }

    /// Filters for new events: one for the keys that are named, one for the authors.
    static let liveFilters = 2
    /// A key with quotes and a comma.
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
    /// The keys that are watched in that way.
    func keys(_ interest: Watched.Interest) -> [PublicKey] {
        compactMap { $0.interest.contains(interest) ? $0.key : nil }
    }
}

extension Filter {
    /// The length of its JSON in bytes, estimated generously.
    var estimatedLength: Int {
        let quotes = 3
        let keys = (ids?.count ?? 0) + (authors?.count ?? 0)
        let values = tags.values.reduce(0) { sum, values in sum + values.reduce(8) { $0 + $1.utf8.count + quotes } }
        return 120 + keys * FilterPlan.keyLength + values + (kinds?.count ?? 0) * 6
    }
}

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
