import Cipher

/// 32 inline bytes, such as an event id or a public key. Four words make comparing, hashing and copying fast, without
/// heap access.
package struct Bytes32: Hashable, Sendable {
    /// The bytes in memory order; only meaningful on this machine.
    package var words: (UInt64, UInt64, UInt64, UInt64)

    package init(words: (UInt64, UInt64, UInt64, UInt64)) {
        self.words = words
    }

    package static func == (left: Bytes32, right: Bytes32) -> Bool {
        left.words == right.words
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(KeyHash.ofThisProcess(self)) }

    // Sets and dictionaries call this for these values. Swift's own hashing takes 20 ns more, some thirty times for
    // each push.
    package func _rawHashValue(seed: Int) -> Int { KeyHash.ofThisProcess(self, seed: seed) }
}

extension Bytes32 {
    /// Takes exactly 32 bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.init(words: (0, 0, 0, 0))
        withUnsafeMutableBytes(of: &self.words) { $0.copyBytes(from: bytes) }
    }

    /// A copy of the bytes.
    package var array: [UInt8] {
        self.withUnsafeBytes { [UInt8]($0) }
    }

    /// Calls `body` with the 32 bytes, without a copy.
    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: self.words, body)
    }
}

extension Bytes32 {
    /// Reads 64 lowercase digits, the only spelling NIP-01 allows.
    package init?(hex: some StringProtocol) {
        let contiguous = hex.utf8.withContiguousStorageIfAvailable { Self(digits: UnsafeRawBufferPointer($0)) }
        guard let bytes = contiguous ?? Array(hex.utf8).withUnsafeBytes({ Self(digits: $0) }) else { return nil }
        self = bytes
    }

    /// The bytes as 64 lowercase digits.
    package var hex: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(64)
        Hex.append(words, to: &digits)
        return String(decoding: digits, as: UTF8.self)
    }

    private init?(digits: UnsafeRawBufferPointer) {
        guard digits.count == 64, let start = digits.baseAddress else { return nil }
        self.init(digits: start)
    }

    /// Reads 64 lowercase digits; all 64 must be readable.
    @inline(__always)
    init?(digits: UnsafeRawPointer) {
        guard let words = Hex.words(digits) else { return nil }
        self.init(words: words)
    }
}

extension Bytes32: Comparable {
    /// The order of the hexadecimal strings: of two events with the same timestamp, NIP-01 keeps the one with the lower
    /// id.
    package static func < (left: Bytes32, right: Bytes32) -> Bool {
        left.bigEndianWords < right.bigEndianWords
    }

    private var bigEndianWords: (UInt64, UInt64, UInt64, UInt64) {
        (
            UInt64(bigEndian: self.words.0), UInt64(bigEndian: self.words.1), UInt64(bigEndian: self.words.2),
            UInt64(bigEndian: self.words.3)
        )
    }
}

/// A type that wraps 32 bytes and shares their conversions.
package protocol WrapsBytes32: Comparable {
    init(_ bytes: Bytes32)
    var bytes: Bytes32 { get }
}

extension WrapsBytes32 {
    /// Reads 64 lowercase digits, the only spelling NIP-01 allows.
    package init?(hex: some StringProtocol) {
        guard let bytes = Bytes32(hex: hex) else { return nil }
        self.init(bytes)
    }

    /// Takes exactly 32 bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard let bytes = Bytes32(bytes: bytes) else { return nil }
        self.init(bytes)
    }

    /// The bytes as 64 lowercase digits.
    package var hex: String {
        self.bytes.hex
    }

    /// A copy of the bytes.
    package var array: [UInt8] {
        self.bytes.array
    }

    /// The order of the hexadecimal strings.
    package static func < (left: Self, right: Self) -> Bool {
        left.bytes < right.bytes
    }
}

extension EventID: WrapsBytes32 {}

extension PublicKey: WrapsBytes32 {}

/// An x-only secp256k1 public key (BIP-340), which identifies a user on Nostr. May not be a point on the curve;
/// verifying checks that.
package struct PublicKey: Hashable, Sendable {
    package let bytes: Bytes32

    package init(_ bytes: Bytes32) {
        self.bytes = bytes
    }

    package func _rawHashValue(seed: Int) -> Int { bytes._rawHashValue(seed: seed) }
}

/// A seeded hash over all bytes of a key.
///
/// With a known hash, or one that reads only some bytes, attackers could choose keys that collide. Hashes are on disk
/// (``FollowedKeys``), so the function must never change.
package struct KeyHash: Sendable {
    /// The hash for sets and dictionaries in memory. Its seed differs with each start.
    static let ofThisProcess: KeyHash = {
        var generator = SystemRandomNumberGenerator()
        return KeyHash(using: &generator)
    }()

    private let seeds: (UInt64, UInt64, UInt64, UInt64, UInt64)

    package init(using generator: inout some RandomNumberGenerator) {
        seeds = (generator.next(), generator.next(), generator.next(), generator.next(), generator.next())
    }

    package static let seedByteCount = 40

    /// With a secret seed of ``seedByteCount`` bytes.
    package init(seed: [UInt8]) {
        precondition(seed.count == Self.seedByteCount, "a seed is five words")
        let words = seed.withUnsafeBytes { bytes in
            (0..<5).map { UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * $0, as: UInt64.self)) }
        }
        seeds = (words[0], words[1], words[2], words[3], words[4])
    }

    @inline(__always)
    package func callAsFunction(_ key: Bytes32) -> UInt64 {
        let first = Self.fold(key.words.0 ^ seeds.0, key.words.1 ^ seeds.1)
        let second = Self.fold(key.words.2 ^ seeds.2, key.words.3 ^ seeds.3)
        return Self.fold(first ^ seeds.4, second &+ 0x9E37_79B9_7F4A_7C15)
    }

    /// The hash for a table with its own seed.
    @inline(__always)
    func callAsFunction(_ key: Bytes32, seed: Int) -> Int {
        let hash = Self.fold(self(key) ^ UInt64(truncatingIfNeeded: seed), 0x9E37_79B9_7F4A_7C15)
        return Int(truncatingIfNeeded: hash)
    }

    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
