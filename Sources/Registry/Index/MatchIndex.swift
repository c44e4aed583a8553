import Core
import Nostr
import Push

/// An index of accounts and their devices by key. Every event is first matched against it.
///
/// Belongs to one thread, takes no lock and, once warm, allocates nothing in ``match(_:into:)``. Changes come through
/// ``Registry/update(_:from:each:)``.
package struct MatchIndex: ~Copyable, Sendable {
    private struct Node {
        var entry: DeviceEntry
        /// The account's next device, or the next free node.
        var next: UInt32
    }

    private static let none = UInt32.max

    /// Account keys, and keys that accounts receive messages under, which have no devices themselves. Only hits on the
    /// latter require a second lookup (``MatchHit/Tie``).
    private var table: KeyTable
    /// The first device of each account, by account number.
    private var heads: [UInt32] = []
    private var nodes: [Node] = []
    private var free = Self.none
    private var owners = MessageKeyOwners()
    private var routes: [RouteID: Route] = [:]
    /// Only for devices that have preferences.
    private var preferences: [DeviceID: DevicePreferences] = [:]
    package private(set) var signals: SignalNames
    package private(set) var languages: LanguageNames
    package private(set) var accountCount = 0
    package private(set) var deviceCount = 0
    /// The number of devices without a mode, and then the number for each mode.
    private var deviceModes = [Int](repeating: 0, count: 1 + Mode.allCases.count)

    /// Creates an empty index with capacity for that many devices.
    package init(
        signals: SignalNames = SignalNames(),
        languages: LanguageNames = LanguageNames(),
        capacity: Int = 0
    ) {
        var generator = SystemRandomNumberGenerator()
        self.init(signals: signals, languages: languages, capacity: capacity, using: &generator)
    }

    init(
        signals: SignalNames,
        languages: LanguageNames = LanguageNames(),
        capacity: Int,
        using generator: inout some RandomNumberGenerator
    ) {
        self.signals = signals
        self.languages = languages
        table = KeyTable(hash: KeyHash(using: &generator), capacity: capacity)
        heads.reserveCapacity(capacity)
        nodes.reserveCapacity(capacity)
    }

    /// Appends hits in the order of `keys`: one for each key of an account, and one for each account that receives
    /// messages under a key. The latter are appended once, even if the key is repeated.
    package func match(_ keys: UnsafeBufferPointer<Bytes32>, into hits: inout [MatchHit]) {
        let first = hits.count
        table.match(keys, into: &hits)
        if !owners.isEmpty && hits.count > first { passOn(&hits, from: first) }
    }

    /// The account of one key; for many keys ``match(_:into:)`` is faster.
    package func account(of key: PublicKey) -> AccountNumber? {
        number(of: key.bytes).map { AccountNumber(rawValue: UInt32(truncatingIfNeeded: $0)) }
    }

    /// The key of an account; nil if there is no account of that number.
    package func key(of account: AccountNumber) -> PublicKey? {
        let number = Int(account.rawValue)
        return table.keys.indices.contains(number) ? PublicKey(table.keys[number]) : nil
    }

    /// Calls `body` with each device of an account.
    package func forEachDevice(of account: AccountNumber, _ body: (DeviceEntry) throws -> Void) rethrows {
        guard heads.indices.contains(Int(account.rawValue)) else { return }
        var number = heads[Int(account.rawValue)]
        while number != Self.none {
            try body(nodes[Int(number)].entry)
            number = nodes[Int(number)].next
        }
    }

    /// Calls `body` with the key of each account.
    package func forEachAccount(_ body: (PublicKey) throws -> Void) rethrows {
        for (number, key) in table.keys.enumerated() where heads[number] != Self.none { try body(PublicKey(key)) }
    }

    /// A filter of all keys that ``match(_:into:)`` can hit, with capacity for twice as many.
    package func keyFilter() -> AccountBloomFilter {
        let filter = AccountBloomFilter(capacity: table.count * 2)
        for key in table.keys { filter.insert(key) }
        return filter
    }

    /// The platform and app of a device's route.
    package func route(_ id: RouteID) -> Route? { routes[id] }

    /// Returns the preferences of a device for pace and filters.
    package func preferences(of device: DeviceID) -> DevicePreferences {
        preferences.isEmpty ? DevicePreferences() : preferences[device] ?? DevicePreferences()
    }

    /// One device of an account; nil if it has no such device.
    package func device(_ device: DeviceID, of account: PublicKey) -> DeviceEntry? {
        node(of: device, of: account).map { nodes[$0].entry }
    }

    /// Whether any device asked for that mode; nil: for no mode.
    package func hasDevices(in mode: Mode?) -> Bool { deviceModes[Self.place(of: mode)] > 0 }

    private static func place(of mode: Mode?) -> Int { mode.map { 1 + Int($0.rawValue) } ?? 0 }

    package mutating func apply(_ change: IndexChange) {
        switch change {
        case .put(let device): put(device)
        case .remove(let device, let account): remove(device, of: account)
        case .messageKeys(let keys, let account): set(keys, of: account)
        }
    }

    mutating func name(_ route: Route, _ id: RouteID) {
        routes[id] = route
    }

    /// Adds a device that is not in the index.
    mutating func add(_ entry: DeviceEntry, to account: Bytes32) {
        let number = enter(account)
        if heads[number] == Self.none { accountCount += 1 }
        let node = Node(entry: entry, next: heads[number])
        if free == Self.none {
            heads[number] = UInt32(truncatingIfNeeded: nodes.count)
            nodes.append(node)
        } else {
            heads[number] = free
            free = nodes[Int(heads[number])].next
            nodes[Int(heads[number])] = node
        }
        deviceCount += 1
        deviceModes[Self.place(of: entry.mode)] += 1
    }

    mutating func note(_ preferences: DevicePreferences, of device: DeviceID) {
        self.preferences[device] = preferences.isEmpty ? nil : preferences
    }

    private mutating func put(_ device: IndexedDevice) {
        note(device.preferences, of: device.device)
        routes[device.routeID] = device.route
        let entry = DeviceEntry(
            device: device.device,
            firstRegisteredAt: device.firstRegisteredAt,
            signals: device.signals.union(signals.set(of: device.furtherSignals)),
            route: device.routeID,
            mode: device.mode,
            language: languages.best(for: device.locale),
            hasSealingKey: device.hasSealingKey
        )
        if let node = node(of: device.device, of: device.account) {
            deviceModes[Self.place(of: nodes[node].entry.mode)] -= 1
            deviceModes[Self.place(of: entry.mode)] += 1
            nodes[node].entry = entry
        } else {
            add(entry, to: device.account.bytes)
        }
    }

    private func node(of device: DeviceID, of account: PublicKey) -> Int? {
        guard let account = table.find(account.bytes) else { return nil }
        var number = heads[account]
        while number != Self.none {
            if nodes[Int(number)].entry.device == device { return Int(number) }
            number = nodes[Int(number)].next
        }
        return nil
    }

    private mutating func remove(_ device: DeviceID, of account: PublicKey) {
        guard let account = table.find(account.bytes), let node = node(of: device, of: PublicKey(table.keys[account]))
        else { return }
        preferences[device] = nil
        deviceModes[Self.place(of: nodes[node].entry.mode)] -= 1
        unlink(node, from: account)
        nodes[node].next = free
        free = UInt32(truncatingIfNeeded: node)
        deviceCount -= 1
        guard heads[account] == Self.none else { return }
        accountCount -= 1
        leave(account)
    }

    private mutating func enter(_ key: Bytes32) -> Int {
        let (number, isNew) = table.insert(key)
        if isNew { heads.append(Self.none) }
        return number
    }

    /// Removes a key that has neither devices nor accounts that receive messages under it.
    private mutating func leave(_ number: Int) {
        guard heads[number] == Self.none, !owners.contains(table.keys[number]) else { return }
        table.remove(number)
        heads.swapAt(number, heads.count - 1)
        heads.removeLast()
    }

    private func number(of account: Bytes32) -> Int? {
        table.find(account).flatMap { heads[$0] == Self.none ? nil : $0 }
    }

    private mutating func unlink(_ node: Int, from account: Int) {
        if heads[account] == UInt32(truncatingIfNeeded: node) {
            heads[account] = nodes[node].next
            return
        }
        var number = Int(heads[account])
        while nodes[number].next != UInt32(truncatingIfNeeded: node) { number = Int(nodes[number].next) }
        nodes[number].next = nodes[node].next
    }

    /// Replaces the signals that have bits and the languages that have numbers. Devices lose the bits of signals that
    /// are not well known, and their languages, until ``grant(_:to:of:)`` and ``speak(_:to:of:)`` set them again.
    mutating func rename(signals: SignalNames, languages: LanguageNames) {
        self.signals = signals
        self.languages = languages
        for number in nodes.indices {
            nodes[number].entry.signals.formIntersection(.wellKnown)
            nodes[number].entry.language = .none
        }
    }

    mutating func speak(_ locale: LanguageTag, to device: DeviceID, of account: PublicKey) {
        guard let node = node(of: device, of: account) else { return }
        nodes[node].entry.language = languages.best(for: locale)
    }

    mutating func grant(_ further: [Signal], to device: DeviceID, of account: PublicKey) {
        guard let node = node(of: device, of: account) else { return }
        nodes[node].entry.signals.formUnion(signals.set(of: further))
    }

    /// Replaces hits of keys without devices by hits of the accounts that receive messages under them. A key that has
    /// its own account is never replaced, even if other accounts' lists contain it.
    private func passOn(_ hits: inout [MatchHit], from first: Int) {
        guard let start = hits[first...].firstIndex(where: { isMessageKey($0) }) else { return }
        let found = Array(hits[start...])
        hits.removeSubrange(start...)
        // An event may repeat a key thousands of times, and each key may have 256 owners.
        var passed: Set<AccountNumber> = []
        for hit in found {
            guard isMessageKey(hit) else {
                hits.append(hit)
                continue
            }
            guard passed.insert(hit.account).inserted else { continue }
            owners.forEachOwner(of: table.keys[Int(hit.account.rawValue)]) { owner in
                guard let account = number(of: owner) else { return }
                let number = AccountNumber(rawValue: UInt32(truncatingIfNeeded: account))
                hits.append(MatchHit(position: hit.position, account: number, tie: .messageKey))
            }
        }
    }

    private func isMessageKey(_ hit: MatchHit) -> Bool { heads[Int(hit.account.rawValue)] == Self.none }

    /// Whether `account` receives messages under `key`, which is not its own.
    package func isMessageKey(_ key: PublicKey, of account: PublicKey) -> Bool {
        owners.owns(account.bytes, key.bytes)
    }

    private mutating func set(_ keys: [MessageKey], of account: PublicKey) {
        let (gained, lost) = owners.set(keys, of: account.bytes)
        for key in gained { _ = enter(key) }
        for key in lost { if let number = table.find(key) { leave(number) } }
    }

    /// Removes former keys for messages that expired by `now`. Returns the accounts that had them. Cheap if there are
    /// none.
    mutating func expire(now: Timestamp) -> [PublicKey] {
        guard owners.isExpiryDue(now: now) else { return [] }
        let (accounts, lost) = owners.expire(now: now)
        for key in lost { if let number = table.find(key) { leave(number) } }
        return accounts.map { PublicKey($0) }
    }
}
