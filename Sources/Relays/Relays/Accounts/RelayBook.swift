import Registry

/// The relays at which keys are watched: their numbers, their row counts, and the admitted relays of users.
struct RelayBook {
    private struct Entry {
        var url: RelayURL
        var rows = 0
    }

    /// The operator's relays, in the order of their numbers.
    private(set) var always: [RelayNumber] = []
    /// Whether a relay was rejected because there were too many.
    private(set) var isCrowded = false
    private var entries: [RelayNumber: Entry] = [:]
    private var numbers: [RelayURL: RelayNumber] = [:]
    /// The number of admitted relays of users, by host.
    private var hosts: [String: Int] = [:]
    let operators: Set<RelayURL>
    private var last: RelayNumber
    private let limit: Int
    private let perHost: Int
    /// Relays that are not stored yet.
    private(set) var unsaved: Set<RelayNumber> = []

    /// `always` are the operator's relays. Up to `limit` others are admitted, and up to `perHost` of one host.
    init(stored: [StoredRelay], always: [RelayURL], limit: Int, perHost: Int) {
        operators = Set(always)
        self.limit = limit
        self.perHost = perHost
        last = stored.map(\.number).max() ?? RelayNumber(rawValue: 0)
        for relay in stored {
            guard let url = RelayURL(relay.url) else { continue }
            entries[relay.number] = Entry(url: url)
            place(url, relay.number)
        }
        self.always = operators.sorted().map { numbers[$0] ?? add($0) }.sorted()
    }

    subscript(_ number: RelayNumber) -> RelayURL? { entries[number]?.url }

    subscript(_ url: RelayURL) -> RelayNumber? { numbers[url] }

    func isOperators(_ number: RelayNumber) -> Bool { always.contains(number) }

    /// Returns the relay's number; nil if there are too many relays. The limit does not apply to the operator's.
    mutating func admit(_ url: RelayURL) -> RelayNumber? {
        if let number = numbers[url] { return number }
        guard numbers.count - always.count < limit, hosts[url.host, default: 0] < perHost else {
            isCrowded = true
            return nil
        }
        return add(url)
    }

    private mutating func add(_ url: RelayURL) -> RelayNumber {
        last = RelayNumber(rawValue: last.rawValue + 1)
        entries[last] = Entry(url: url)
        place(url, last)
        unsaved.insert(last)
        return last
    }

    /// Changes the row count of a relay.
    mutating func count(_ number: RelayNumber, by difference: Int) {
        entries[number]?.rows += difference
    }

    /// Removes and returns the relays of users at which no key is watched any longer.
    mutating func takeDeserted(among numbers: some Sequence<RelayNumber>) -> [(number: RelayNumber, url: RelayURL)] {
        var deserted: [(number: RelayNumber, url: RelayURL)] = []
        for number in numbers where !isOperators(number) {
            guard let entry = entries[number], entry.rows <= 0 else { continue }
            deserted.append((number, entry.url))
            forget(number)
        }
        return deserted
    }

    var all: [RelayNumber] { entries.keys.sorted() }

    mutating func saved() { unsaved.removeAll() }

    /// Admits the relays that most accounts named. Relays that are no longer admitted keep their rows until these are
    /// removed.
    mutating func admit(by counts: RelayCounts) {
        let users = Set(numbers.keys).subtracting(operators)
        let ranked = counts.ranked(limit: limit, perHost: perHost, preferring: users)
        for url in users.subtracting(ranked) { displace(url) }
        for url in ranked { _ = admit(url) }
        isCrowded = counts.exceeds(ranked.count)
    }

    private mutating func place(_ url: RelayURL, _ number: RelayNumber) {
        let isNew = numbers.updateValue(number, forKey: url) == nil
        if isNew, !operators.contains(url) { hosts[url.host, default: 0] += 1 }
    }

    private mutating func displace(_ url: RelayURL) {
        guard numbers.removeValue(forKey: url) != nil, !operators.contains(url) else { return }
        let rest = hosts[url.host, default: 1] - 1
        hosts[url.host] = rest > 0 ? rest : nil
    }

    private mutating func forget(_ number: RelayNumber) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        if numbers[entry.url] == number { displace(entry.url) }
        unsaved.remove(number)
    }
}

/// Counts how many accounts named each relay. Names that only one account uses take no memory, because an account can
/// name many.
struct RelayCounts {
    private var counts: [RelayURL: Int] = [:]
    private var dropped = false
    private let room: Int

    /// Counts up to `room` relays at a time. Beyond that, the least named ones are dropped (lossy counting, Manku and
    /// Motwani); often named relays are still counted.
    init(room: Int) {
        self.room = max(1, room)
    }

    mutating func count(_ relay: RelayURL) {
        if counts[relay] == nil, counts.count >= room {
            counts = counts.compactMapValues { $0 > 1 ? $0 - 1 : nil }
            dropped = true
        }
        counts[relay, default: 0] += 1
    }

    /// Whether more relays than `limit` were named.
    func exceeds(_ limit: Int) -> Bool { dropped || counts.count > limit }

    /// Returns the relays that most accounts named, up to `perHost` of one host. Among equals, those in `preferred` are
    /// first.
    func ranked(limit: Int, perHost: Int, preferring preferred: Set<RelayURL>) -> [RelayURL] {
        let ranked = counts.sorted { one, other in
            if one.value != other.value { return one.value > other.value }
            let (first, second) = (preferred.contains(one.key), preferred.contains(other.key))
            return first == second ? one.key < other.key : first
        }
        var hosts: [String: Int] = [:]
        let chosen = ranked.map(\.key).filter { relay in
            hosts[relay.host, default: 0] += 1
            return hosts[relay.host, default: 0] <= perHost
        }
        return Array(chosen.prefix(limit))
    }
}

/// The source of a user's own relays.
package enum RelaySource: String, Sendable, Hashable, CaseIterable {
    /// The relays of the registration, or else the read relays of the relay list (NIP-65); and the relays for private
    /// messages (NIP-17).
    case nip65
    /// Only the relays of the registration.
    case registration
    /// No source: users are watched only at the operator's relays.
    case none
}

/// Selects the relays that accounts chose.
struct RelayChoice: Sendable {
    private let source: RelaySource
    /// The maximum number of relays of one account.
    private let limit: Int
    private var reader = RelayReader()
    /// Relays that are never selected.
    var blocked = BlockedRelays()

    init(source: RelaySource, limit: Int) {
        self.source = source
        self.limit = limit
    }

    /// Returns the relays that an account chose, each once, without those in `always`.
    mutating func relays(of account: WatchedAccount, without always: Set<RelayURL>) -> [RelayURL] {
        var chosen: [RelayURL] = []
        for text in texts(of: account) where chosen.count < limit {
            guard let relay = reader.read(text), !always.contains(relay), !chosen.contains(relay),
                !blocked.contains(relay)
            else { continue }
            chosen.append(relay)
        }
        return chosen
    }

    /// Returns an account's relays as strings, most important first. Not every string is a valid URL.
    private func texts(of account: WatchedAccount) -> [String] {
        switch source {
        case .none: []
        case .registration: account.relays
        case .nip65:
            // Alternating, so that a long list of one type does not exclude the other.
            Self.alternating(account.messageRelays, account.relays.isEmpty ? account.readRelays : account.relays)
        }
    }

    private static func alternating(_ one: [String], _ other: [String]) -> [String] {
        guard !one.isEmpty else { return other }
        var texts: [String] = []
        texts.reserveCapacity(one.count + other.count)
        for index in 0..<max(one.count, other.count) {
            if index < one.count { texts.append(one[index]) }
            if index < other.count { texts.append(other[index]) }
        }
        return texts
    }
}

/// Parses relays' URLs with a cache, because many users name the same few.
private struct RelayReader: Sendable {
    private static let limit = 65_536

    private var known: [String: RelayURL?] = [:]

    mutating func read(_ text: String) -> RelayURL? {
        if let relay = known[text] { return relay }
        let relay = RelayURL(text)
        if known.count >= Self.limit { known.removeAll(keepingCapacity: true) }
        known[text] = .some(relay)
        return relay
    }
}
