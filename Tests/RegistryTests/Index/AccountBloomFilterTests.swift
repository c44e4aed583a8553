import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

struct AccountBloomFilterTests {
    @Test func findsEveryKeyThatWasInserted() {
        var generator = Lehmer(state: 11)
        let filter = AccountBloomFilter(capacity: 10_000, using: &generator)
        let keys = (0..<10_000).map { _ in Bytes32(random: &generator) }
        for key in keys { filter.insert(key) }
        for key in keys {
            #expect(filter.mayContain(key))
            #expect(!filter.insert(key))
        }
    }

    @Test func fewOthersLookAsIfTheyWereThere() {
        var generator = Lehmer(state: 12)
        let filter = AccountBloomFilter(capacity: 1, using: &generator)
        #expect(!filter.mayContain(Bytes32(random: &generator)))
        for _ in 0..<filter.capacity { filter.insert(Bytes32(random: &generator)) }
        let others = (0..<100_000).count { _ in filter.mayContain(Bytes32(random: &generator)) }
        #expect(others < 100_000 / 100)
    }

    @Test func anIndexFilterHasAccountsAndTheKeysOfTheirMessages() {
        var index = MatchIndex()
        let (account, messageKey) = (PublicKey(Bytes32(words: (1, 0, 0, 0))), PublicKey(Bytes32(words: (2, 0, 0, 0))))
        index.apply(.messageKeys([MessageKey(key: messageKey, until: nil)], of: account))
        var filter = index.keyFilter()
        #expect(filter.mayContain(messageKey.bytes))
        #expect(!filter.mayContain(account.bytes))
        index.add(
            DeviceEntry(
                device: DeviceID(rawValue: 1),
                firstRegisteredAt: 0,
                signals: [],
                route: RouteID(rawValue: 1),
                mode: nil,
                hasSealingKey: false
            ),
            to: account.bytes
        )
        filter = index.keyFilter()
        #expect(filter.mayContain(account.bytes) && filter.mayContain(messageKey.bytes))
    }
}
