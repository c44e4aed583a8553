import Cipher
import Nostr

/// The root secrets that the registry is sealed with. If the router's key never changed, they derive from it. Otherwise
/// the registry stores them, sealed under the router's key.
///
/// Each root has a number, and every sealed value starts with the number of its root. So resealing under the newest
/// root can stop and resume anywhere.
struct KeyRing: Sendable, Concealed {
    struct Root: Sendable {
        let number: UInt8
        let bytes: [UInt8]
    }

    private static let version: UInt8 = 1

    /// The last root seals new values; all roots open values.
    private(set) var roots: [Root]
    let seeds: KeySeeds
    /// The other secret keys, in addition to the one that opens the ring.
    private(set) var others: [SecretKey]

    /// The ring of a router whose key never changed.
    init(identity: SecretKey) {
        seeds = KeySeeds(identity: identity)
        roots = [Root(number: 1, bytes: seeds[.registry])]
        others = []
    }

    /// Opens a ring that ``sealed(for:random:)`` sealed for `pair`; nil for any other bytes.
    init?(_ sealed: [UInt8], for pair: KeyPair) {
        let nonceEnd = AESGCM.nonceByteCount
        guard sealed.count > nonceEnd, let key = try? Self.wrappingKey(pair.secret),
            let bytes = try? AESGCM.open(
                Array(sealed[nonceEnd...]),
                key: key,
                nonce: Array(sealed[..<nonceEnd]),
                authenticating: pair.publicKey.array
            )
        else { return nil }
        var rest = bytes[...]
        func take(_ count: Int) -> [UInt8]? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        guard take(1) == [Self.version], let rootCount = take(1)?.first, rootCount > 0 else { return nil }
        roots = []
        for _ in 0..<rootCount {
            guard let number = take(1)?.first, let bytes = take(HMACSHA256.byteCount) else { return nil }
            roots.append(Root(number: number, bytes: bytes))
        }
        guard let seedCount = take(1)?.first,
            let seeds = take(Int(seedCount) * HMACSHA256.byteCount).flatMap(KeySeeds.init(bytes:))
        else { return nil }
        self.seeds = seeds
        others = []
        while !rest.isEmpty {
            guard let secret = take(SecretKey.byteCount).flatMap({ try? SecretKey(bytes: $0) }) else { return nil }
            others.append(secret)
        }
    }

    /// Seals the ring so that `pair` opens it.
    func sealed(for pair: KeyPair, random: RandomBytes) throws -> [UInt8] {
        let bytes =
            [Self.version, UInt8(roots.count)] + roots.flatMap { [$0.number] + $0.bytes }
            + [UInt8(KeySeeds.Purpose.allCases.count)] + seeds.bytes + others.flatMap { $0.reveal() }
        let nonce = random(AESGCM.nonceByteCount)
        let key = try Self.wrappingKey(pair.secret)
        return nonce + (try AESGCM.seal(bytes, key: key, nonce: nonce, authenticating: pair.publicKey.array))
    }

    private static func wrappingKey(_ secret: SecretKey) throws -> [UInt8] {
        let root = HKDFSHA256.extract(salt: Array("carillon keyring".utf8), inputKeyMaterial: secret.reveal())
        return try HKDFSHA256.expand(pseudoRandomKey: root, info: Array("wrap 1".utf8), length: 32)
    }

    /// The same ring with other secret keys in addition to the one that opens it.
    func holding(_ others: [SecretKey]) -> KeyRing {
        var ring = self
        ring.others = others
        return ring
    }

    /// The same ring with an additional new root, which seals from now on.
    func renewed(random: RandomBytes) -> KeyRing {
        var ring = self
        let taken = Set(roots.map(\.number))
        let last = roots.last?.number ?? 0
        // Numbers continue with 1 after 255 and are never 0. Only a few are in use.
        let number = (1...UInt8.max).map { UInt8((Int(last) + Int($0) - 1) % 255 + 1) }.first { !taken.contains($0) }
        ring.roots.append(Root(number: number ?? 1, bytes: random(HMACSHA256.byteCount)))
        return ring
    }

    /// The same ring with only the root that seals.
    var resealed: KeyRing {
        var ring = self
        ring.roots = Array(roots.suffix(1))
        return ring
    }

    /// The key pair of a public key among ``others``.
    func pair(of key: PublicKey) -> KeyPair? {
        others.first { $0.publicKeyBytes == key.array }.flatMap { try? KeyPair(secret: $0) }
    }
}
