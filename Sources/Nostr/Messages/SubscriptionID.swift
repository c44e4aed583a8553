/// What a client calls one of its subscriptions (NIP-01): 1 to 64 characters, meaningful on one connection.
package struct SubscriptionID: Hashable, Sendable, CustomStringConvertible {
    package let name: String

    /// `nil` unless `name` has 1 to 64 characters. Characters are counted as Unicode scalars: what a reader takes for
    /// one may be of any length.
    package init?(_ name: String) {
        let bytes = name.utf8.count
        guard bytes > 0, bytes <= 64 || name.unicodeScalars.count <= 64 else { return nil }
        self.name = name
    }

    package var description: String { name }
}
