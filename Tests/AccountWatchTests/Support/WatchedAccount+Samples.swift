import Nostr

@testable import Registry

extension PublicKey {
    /// A key that differs with `seed`.
    static func sample(_ seed: UInt64) -> PublicKey {
        PublicKey(Bytes32(words: (seed &* 0x9e37_79b9_7f4a_7c15, seed, 1, 2)))
    }
}

extension WatchedAccount {
    /// Registered long before the tests begin.
    static func sample(
        _ seed: UInt64,
        registeredAt: Int64 = Bench.start - 86_400,
        relays: [String] = [],
        readRelays: [String] = [],
        messageRelays: [String] = [],
        messageKeys: [UInt64] = [],
        partners: [UInt64] = []
    ) -> WatchedAccount {
        WatchedAccount(
            key: .sample(seed),
            registeredAt: registeredAt,
            relays: relays,
            readRelays: readRelays,
            messageRelays: messageRelays,
            messageKeys: messageKeys.map { .sample($0) },
            partners: Set(partners.map { .sample($0) }),
            isPartnered: !partners.isEmpty
        )
    }
}
