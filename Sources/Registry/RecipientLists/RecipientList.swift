import Nostr

/// An account's newest event of a replaceable kind, whole, for filters to read.
package struct RecipientList: Hashable, Sendable {
    /// Longer ones are not kept.
    static let byteLimit = 1 << 20
    /// Whoever follows more follows those that the list names first.
    private static let followLimit = 10_000

    package let mark: SlotMark
    /// Verified.
    package let json: [UInt8]

    init(mark: SlotMark, json: [UInt8]) {
        self.mark = mark
        self.json = json
    }

    /// Whom a contact list names, each once.
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
