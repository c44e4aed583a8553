import Foundation
import Nostr

/// The keys that an account follows according to its newest contact list (NIP-02), as ascending hashes of eight bytes.
///
/// The hash is seeded from the router's identity, so others cannot construct a key that collides with a followed one.
struct FollowedKeys: Hashable, Sendable {
    /// The maximum number of keys. In a longer list the first keys count.
    static let limit = 10_000

    let mark: SlotMark
    private let hashes: [UInt64]

    init(_ list: Event, hash: KeyHash) {
        mark = SlotMark(list)
        var hashes: Set<UInt64> = []
        for tag in list.tags where hashes.count < Self.limit {
            guard tag.count > 1, tag[0] == "p", let key = Bytes32(hex: tag[1]) else { continue }
            hashes.insert(hash(key))
        }
        self.hashes = hashes.sorted()
    }

    /// Parses ``data``. Returns nil if it is malformed.
    init?(mark: SlotMark, data: Data) {
        guard data.count.isMultiple(of: 8), data.count <= 8 * Self.limit else { return nil }
        self.mark = mark
        hashes = data.withUnsafeBytes { bytes in
            (0..<bytes.count / 8).map {
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * $0, as: UInt64.self))
            }
        }
    }

    var count: Int { hashes.count }

    /// The hashes as the database stores them.
    var data: Data {
        var data = Data(capacity: 8 * hashes.count)
        for hash in hashes { withUnsafeBytes(of: hash.littleEndian) { data.append(contentsOf: $0) } }
        return data
    }

    func contains(_ hash: UInt64) -> Bool {
        var (low, high) = (0, hashes.count)
        while low < high {
            let middle = (low + high) / 2
            if hashes[middle] == hash { return true }
            if hashes[middle] < hash { low = middle + 1 } else { high = middle }
        }
        return false
    }
}

/// The newest event of one replaceable kind of an account, for filters to read.
package struct RecipientList: Hashable, Sendable {
    /// The maximum size in bytes. Larger lists are not stored.
    static let byteLimit = 1 << 20
    /// The maximum number of keys. In a longer list the first keys count.
    private static let followLimit = 10_000

    package let mark: SlotMark
    /// The whole event. Its signature was verified.
    package let json: [UInt8]

    init(mark: SlotMark, json: [UInt8]) {
        self.mark = mark
        self.json = json
    }

    /// The keys that a contact list names, each once.
    package var namedKeys: [PublicKey] {
        guard let event = try? Event(json: json) else { return [] }
        var seen: Set<PublicKey> = []
        var keys: [PublicKey] = []
        for hex in event.values(of: "p") where keys.count < Self.followLimit {
            guard let key = PublicKey(hex: hex), seen.insert(key).inserted else { continue }
            keys.append(key)
        }
        return keys
    }
}
