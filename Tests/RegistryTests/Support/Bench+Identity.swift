import Nostr

@testable import Registry

extension Bench {
    /// The public key of an account.
    func key(_ account: UInt8) throws -> PublicKey { try self.account(account).publicKey }

    /// A registration of a device key for a root identity.
    func event(
        ofDevice device: UInt8,
        for root: UInt8,
        _ json: String,
        at seconds: Int64 = 0,
        id: UInt8 = 0x80,
        deviceID: String? = nil
    ) throws -> Event {
        let ours = identity.publicKey.hex
        return try event(
            of: device,
            json,
            at: seconds,
            id: id,
            tags: [["d", deviceID.map { "\(ours):\($0)" } ?? ours], ["root_identity", try key(root).hex]]
        )
    }

    /// A kind 10050.
    func deviceList(
        of root: UInt8,
        devices: [UInt8] = [],
        messageKeys: [UInt8] = [],
        relays: [String] = [],
        at seconds: Int64 = 0,
        id: UInt8 = 0x80
    ) throws -> Event {
        let tags =
            try devices.map { ["device", try key($0).hex] } + messageKeys.map { ["dm_key", try key($0).hex] }
            + relays.map { ["relay", $0] }
        return try event(of: root, content: "", at: seconds, id: id, kind: .deviceList, tags: tags)
    }

    /// Which accounts, by their numbers, a gift wrap to `key` wakes.
    func accounts(reachedBy key: UInt8, in index: borrowing MatchIndex) throws -> [PublicKey] {
        var hits: [MatchHit] = []
        try [self.key(key).bytes].withUnsafeBufferPointer { index.match($0, into: &hits) }
        return hits.compactMap { index.key(of: $0.account) }
    }
}
