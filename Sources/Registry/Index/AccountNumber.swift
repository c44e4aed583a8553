/// Where an account is in a ``MatchIndex``. Holds until the index changes, and not a moment longer.
package struct AccountNumber: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }
}
