import Nostr

/// How what is watched is said in filters (NIP-01).
struct FilterPlan: Sendable {
    static let registrations: Set<Kind> = [.pushRegistration, .addressablePushRegistration]
    /// What takes registrations back (NIP-09, NIP-62).
    static let deletions: Set<Kind> = [.deletion, .requestToVanish]
    /// As clients say in a deletion what it is about.
    static let registrationKindNames: Set<String> = Set(registrations.map { "\($0.rawValue)" })

    /// Kinds that tell where an account is found, what its devices are, what it registers, and what else is wanted of
    /// its own.
    let lists: Set<Kind>
    /// Gift wraps that are asked for, dated back as they are (NIP-59).
    let wraps: Set<Kind>
    /// What else is asked for by the keys it names; nil: every kind.
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

    /// What is to come for these keys; `nil` for keys: for whomever. Stored events are not wanted, but not every relay
    /// understands a limit of 0.
    func live(addressed: [PublicKey]?, authored: [PublicKey]?, now: Int64) -> [Filter] {
        var filters: [Filter] = []
        let seconds = now / 1_000 - settings.slackSeconds
        if addressed.map({ !$0.isEmpty }) ?? true {
            let since = wraps.isEmpty ? seconds : seconds - settings.wrapSeconds
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
    func catchUp(_ entries: [RosterEntry], since: Int64) -> [SweepStage] {
        var stages: [SweepStage] = []
        let named = Self.naming(entries.keys(.addressed))
        if !named.isEmpty {
            if addressedKinds?.isEmpty != true {
                stages.append(stage(Filter(kinds: addressedKinds, tags: named, since: since), .stored))
            }
            if !wraps.isEmpty {
                let since = since - settings.wrapSeconds - settings.slackSeconds
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
    /// and so it is not new. What is older than `horizon`, in seconds, is too old to be.
    func beginning(_ entries: [RosterEntry], notBefore horizon: Int64) -> [SweepStage] {
        var stages: [SweepStage] = []
        let authors = entries.keys(.authored)
        if !authors.isEmpty {
            stages.append(stage(Filter(authors: Set(authors), kinds: lists.union([.requestToVanish])), .stored))
            // People delete much; of what was stored before only deletions of registrations matter.
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
                let since = max(0, first - settings.wrapSeconds - settings.slackSeconds)
                // Where every kind is asked for, the others were among those.
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

    /// Keys of which one filter may speak in a message of that length; `filters` are sent together.
    static func keys(inMessageOf length: Int, filters: Int, atMost limit: Int) -> Int {
        min(limit, max(1, (length - 1_024) / (keyLength * filters)))
    }

    /// The length of the REQ for what is to come for so many keys, at most.
    static func length(ofLive keys: Int) -> Int { 512 + liveFilters * keyLength * keys }

    /// Filters for what is to come for keys: one names them, one has them as authors.
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

extension [RosterEntry] {
    /// The keys of which that is watched.
    func keys(_ interest: Watched.Interest) -> [PublicKey] {
        compactMap { $0.interest.contains(interest) ? $0.key : nil }
    }
}

extension Filter {
    /// Bytes of its JSON, a few more rather than fewer.
    var estimatedLength: Int {
        let quotes = 3
        let keys = (ids?.count ?? 0) + (authors?.count ?? 0)
        let values = tags.values.reduce(0) { sum, values in sum + values.reduce(8) { $0 + $1.utf8.count + quotes } }
        return 120 + keys * FilterPlan.keyLength + values + (kinds?.count ?? 0) * 6
    }
}
