/// What a client calls one of its subscriptions (NIP-01): 1 to 64 characters, meaningful on one connection.
package struct SubscriptionID: Hashable, Sendable, CustomStringConvertible {
    package let name: String

    /// `nil` unless `name` has 1 to 64 characters. Characters are counted as Unicode scalars: what a reader takes for
    /// one may be of any length.
    package init?(_ name: String) {
        guard (1...64).contains(name.unicodeScalars.prefix(65).count) else { return nil }
        self.name = name
    }

    package var description: String { name }
}
