/// What a relay is called in the rows about who is watched where.
package struct RelayNumber: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (one: RelayNumber, other: RelayNumber) -> Bool { one.rawValue < other.rawValue }
}
