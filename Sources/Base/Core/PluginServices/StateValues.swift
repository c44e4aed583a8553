/// A key of the service `carillon.state/1` and its value; an empty value means no value.
package struct StateEntry: Hashable, Sendable {
    package var key: [UInt8]
    package var value: [UInt8]

    package init(key: [UInt8], value: [UInt8]) {
        self.key = key
        self.value = value
    }

    /// Whether key and value are within the limits of one entry.
    package var isWithinLimits: Bool {
        (1...StateValues.keyLimit).contains(key.count) && key.allSatisfy { (0x20...0x7e).contains($0) }
            && value.count <= StateValues.valueLimit
    }
}

/// The values of one owner, within the limits of the service `carillon.state/1`. Pure.
package struct StateValues: Sendable {
    package static let keyLimit = 64
    package static let valueLimit = 16 << 10
    package static let countLimit = 256
    /// The maximum total bytes of all values.
    package static let totalLimit = 256 << 10

    private var values: [[UInt8]: [UInt8]] = [:]
    private var total = 0

    package init() {}

    /// Restores stored values. Values that exceed a limit are dropped.
    package init(_ entries: [StateEntry]) {
        for entry in entries { _ = set(entry) }
    }

    /// Nil: there is no such key.
    package subscript(key: [UInt8]) -> [UInt8]? { values[key] }

    /// All values, sorted by key.
    package var entries: [StateEntry] {
        values.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { StateEntry(key: $0.key, value: $0.value) }
    }

    /// Sets a value, or removes it if empty. Returns false, without a change, if a limit would be exceeded.
    package mutating func set(_ entry: StateEntry) -> Bool {
        guard entry.isWithinLimits else { return false }
        let former = values[entry.key]
        let isMore = former == nil && !entry.value.isEmpty
        guard values.count + (isMore ? 1 : 0) <= Self.countLimit,
            total - (former?.count ?? 0) + entry.value.count <= Self.totalLimit
                || entry.value.count <= former?.count ?? 0
        else { return false }
        replace(entry)
        return true
    }

    /// Sets a value that is already known to be within the limits.
    mutating func replace(_ entry: StateEntry) {
        total += entry.value.count - (values[entry.key]?.count ?? 0)
        values[entry.key] = entry.value.isEmpty ? nil : entry.value
    }
}

/// The copy of an instance's values in a plugin's process. Pure.
///
/// The router's values are authoritative, but each `set` of the plugin applies here immediately. Each `set` has a
/// number, and the router reports the last number that it processed. So a change from elsewhere applies here only if
/// the router made it after all of this instance's `set` calls.
package struct StateCopy: Sendable {
    private var values: StateValues
    /// By key, the plugin's last change that the router may not have processed.
    private var own: [[UInt8]: UInt64] = [:]
    private var last: UInt64 = 0

    package init(_ entries: [StateEntry]) { values = StateValues(entries) }

    package subscript(key: [UInt8]) -> [UInt8]? { values[key] }

    /// Sets a value. Returns its number for the router, or nil if a limit would be exceeded.
    package mutating func set(_ entry: StateEntry) -> UInt64? {
        guard values.set(entry) else { return nil }
        last += 1
        own[entry.key] = last
        return last
    }

    /// Takes the router's values as of the plugin's change number `handled`. `isWhole`: there are no other values.
    package mutating func receive(_ entries: [StateEntry], handled: UInt64, isWhole: Bool) {
        own = own.filter { $0.value > handled }
        if isWhole {
            for entry in values.entries where own[entry.key] == nil {
                values.replace(StateEntry(key: entry.key, value: []))
            }
        }
        for entry in entries where own[entry.key] == nil { values.replace(entry) }
    }
}
