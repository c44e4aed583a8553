import Cipher
import Core
import Nostr

/// The public keys of a router: the current one, possibly the previous or next one, and retired ones.
package struct RouterKeyNames: Hashable, Sendable {
    /// One of these keys.
    package struct Name: Hashable, Sendable {
        /// From 1, in the order in which the router got its keys.
        package let number: Int
        package let key: PublicKey
        /// When the router stops answering to it; nil: it is the current key.
        package let retiresAt: Timestamp?
    }

    package let current: Name
    /// The second key that the router still answers to.
    package let former: Name?
    package let retired: [Name]

    init(current: Name, former: Name? = nil, retired: [Name] = []) {
        self.current = current
        self.former = former
        self.retired = retired
    }

    /// The names of a router whose key never changed.
    package init(_ key: PublicKey) {
        self.init(current: Name(number: 1, key: key, retiresAt: nil))
    }

    /// All keys, the current one first.
    package var all: [Name] { [current] + (former.map { [$0] } ?? []) + retired }

    /// The keys whose secret the router has, the current one first.
    package var answering: [PublicKey] { [current.key] + (former.map { [$0.key] } ?? []) }

    /// Returns the key that starts the `d` of a registration; nil if it is not one of the router's keys.
    package func named(by identifier: String) -> Name? {
        let key = identifier.prefix { $0 != ":" }
        return all.first { $0.key.hex == key }
    }

    /// Whether the router no longer answers to a key.
    package func isRetired(_ name: Name, at now: Timestamp) -> Bool {
        retired.contains(name) || name.retiresAt.map { $0 <= now } ?? false
    }
}

/// The keys that a router answers to, and the seeds of its keyed hashes.
package struct RouterKeys: Sendable, Concealed {
    package let names: RouterKeyNames
    package let current: KeyPair
    package let former: KeyPair?
    package let seeds: KeySeeds

    init(names: RouterKeyNames, current: KeyPair, former: KeyPair?, seeds: KeySeeds) {
        self.names = names
        self.current = current
        self.former = former
        self.seeds = seeds
    }

    /// The keys of a router whose key never changed.
    package init(_ key: KeyPair) {
        self.init(
            names: RouterKeyNames(key.publicKey),
            current: key,
            former: nil,
            seeds: KeySeeds(identity: key.secret)
        )
    }

    /// The key pairs that the router answers to, the current one first.
    package var answering: [KeyPair] { [current] + (former.map { [$0] } ?? []) }

    /// Returns the key pair of a public key; nil if the router does not have its secret.
    package func pair(of key: PublicKey) -> KeyPair? { answering.first { $0.publicKey == key } }
}

/// The seeds of keyed hashes whose values must survive a change of the router's key, such as token handles and delivery
/// ids. They derive from the first key.
package struct KeySeeds: Sendable, Concealed {
    /// The purpose of each seed. Its raw value is the salt that separates it from the others (HKDF, RFC 5869).
    package enum Purpose: String, CaseIterable, Sendable {
        case registry = "carillon registry"
        case sessions = "carillon sessions"
        case deliveryIDs = "carillon delivery id"
        case traceIDs = "carillon trace id"
        case deviceHandles = "carillon device handle"
    }

    /// The seeds, concatenated in the order of the purposes.
    let bytes: [UInt8]

    package init(identity: SecretKey) {
        bytes = Purpose.allCases.flatMap {
            HKDFSHA256.extract(salt: Array($0.rawValue.utf8), inputKeyMaterial: identity.reveal())
        }
    }

    /// Reads the seeds of all purposes; nil for another number of bytes.
    init?(bytes: [UInt8]) {
        guard bytes.count == Purpose.allCases.count * HMACSHA256.byteCount else { return nil }
        self.bytes = bytes
    }

    /// A pseudorandom key to expand.
    package subscript(purpose: Purpose) -> [UInt8] {
        let index = Purpose.allCases.firstIndex(of: purpose) ?? 0
        return Array(bytes[index * HMACSHA256.byteCount..<(index + 1) * HMACSHA256.byteCount])
    }
}
