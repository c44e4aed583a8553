import RouterConfiguration

/// The hash function SipHash-2-4. It maps accounts to partitions and partitions to members, equally on all members.
enum SipHash {
    /// `key`: 128 bits, low word first.
    static func hash(_ bytes: some Collection<UInt8>, key: (UInt64, UInt64)) -> UInt64 {
        var state = State(key)
        var word: UInt64 = 0
        var filled = 0
        for byte in bytes {
            word |= UInt64(byte) << UInt64(8 * filled)
            filled += 1
            if filled == 8 {
                state.take(word)
                (word, filled) = (0, 0)
            }
        }
        state.take(word | UInt64(truncatingIfNeeded: bytes.count) << 56)
        return state.finish()
    }

    private struct State {
        private var v0: UInt64
        private var v1: UInt64
        private var v2: UInt64
        private var v3: UInt64

        init(_ key: (UInt64, UInt64)) {
            v0 = key.0 ^ 0x736F_6D65_7073_6575
            v1 = key.1 ^ 0x646F_7261_6E64_6F6D
            v2 = key.0 ^ 0x6C79_6765_6E65_7261
            v3 = key.1 ^ 0x7465_6462_7974_6573
        }

        mutating func take(_ word: UInt64) {
            v3 ^= word
            round()
            round()
            v0 ^= word
        }

        mutating func finish() -> UInt64 {
            v2 ^= 0xFF
            for _ in 0..<4 { round() }
            return v0 ^ v1 ^ v2 ^ v3
        }

        private mutating func round() {
            v0 &+= v1
            v1 = rotated(v1, 13) ^ v0
            v0 = rotated(v0, 32)
            v2 &+= v3
            v3 = rotated(v3, 16) ^ v2
            v0 &+= v3
            v3 = rotated(v3, 21) ^ v0
            v2 &+= v1
            v1 = rotated(v1, 17) ^ v2
            v2 = rotated(v2, 32)
        }

        private func rotated(_ word: UInt64, _ bits: UInt64) -> UInt64 { word << bits | word >> (64 - bits) }
    }
}

/// Maps accounts to partitions. Fixed when the cluster is created.
struct Partitioning: Hashable, Sendable {
    let partitions: Int
    /// 16 bytes, secret to the cluster, so that an attacker cannot choose accounts of one partition.
    let key: [UInt8]

    /// Returns nil if the numbers are out of range.
    init?(partitions: Int, key: [UInt8]) {
        guard Configuration.Cluster.partitionRange.contains(partitions), key.count == 16 else { return nil }
        self.partitions = partitions
        self.key = key
    }

    /// The partition of an account, by its public key.
    func partition(of account: [UInt8]) -> Int {
        Int(SipHash.hash(account, key: (word(key[..<8]), word(key[8...]))) % UInt64(partitions))
    }

    private func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}

/// Assigns partitions to living members by rendezvous hashing: the member with the highest weight owns the partition.
/// If a member joins or leaves, only its own share moves.
enum Placement {
    static func owner(of partition: Int, among members: some Collection<MemberName>) -> MemberName? {
        members.max { (weight($0, partition), $0) < (weight($1, partition), $1) }
    }

    private static func weight(_ member: MemberName, _ partition: Int) -> UInt64 {
        SipHash.hash(Array(member.rawValue.utf8) + [0, UInt8(truncatingIfNeeded: partition)], key: (0, 0))
    }
}
