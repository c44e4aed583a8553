/// A key of the service `carillon.state/1` and its value; an empty value stands for none.
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

/// What is kept for one owner, within the limits of the service `carillon.state/1`. Pure.
package struct StateValues: Sendable {
    package static let keyLimit = 64
    package static let valueLimit = 16 << 10
    package static let countLimit = 256
    /// Of all values together.
    package static let totalLimit = 256 << 10

    private var values: [[UInt8]: [UInt8]] = [:]
    private var total = 0

    package init() {}

    /// What was kept before; what is beyond a limit is left out.
    package init(_ entries: [StateEntry]) {
        for entry in entries { _ = set(entry) }
    }

    /// Nil: there is no such key.
    package subscript(key: [UInt8]) -> [UInt8]? { values[key] }

    /// All of them, by their keys.
    package var entries: [StateEntry] {
        values.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { StateEntry(key: $0.key, value: $0.value) }
    }

    /// Sets a value, or removes an empty one. False: that would be beyond a limit, and nothing is changed.
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

    /// Sets a value that somebody else has found to be within the limits.
    mutating func replace(_ entry: StateEntry) {
        total += entry.value.count - (values[entry.key]?.count ?? 0)
        values[entry.key] = entry.value.isEmpty ? nil : entry.value
    }
}

/// The copy that a plugin's process has of what is kept for an instance. Pure.
///
/// The router has the truth, and each `set` of the plugin counts here at once. So a change from elsewhere counts only
/// where the router made it after all that this instance has set: each `set` has a number, and the router says up to
/// which it has come.
package struct StateCopy: Sendable {
    private var values: StateValues
    /// By key: the last own change that the router may not have come to.
    private var own: [[UInt8]: UInt64] = [:]
    private var last: UInt64 = 0

    package init(_ entries: [StateEntry]) { values = StateValues(entries) }

    package subscript(key: [UInt8]) -> [UInt8]? { values[key] }

    /// Sets a value; returns the number under which the router is to be told. Nil: it is beyond a limit.
    package mutating func set(_ entry: StateEntry) -> UInt64? {
        guard values.set(entry) else { return nil }
        last += 1
        own[entry.key] = last
        return last
    }

    /// Takes what the router says once it has come to the own change `handled`; `isWhole`: there is nothing else.
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
