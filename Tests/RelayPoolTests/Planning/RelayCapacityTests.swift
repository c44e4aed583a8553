import Testing
import TimeTestSupport

@testable import RelayPool

@Test func theLeastOfWhatIsSaidToldAndEnoughHolds() {
    var capacity = RelayCapacity(enough: 500_000)
    #expect(capacity.subscriptions == 20)
    #expect(capacity.bytes == 500_000)
    #expect(capacity.spareBytes == 125_000)
    capacity.says(subscriptions: 50)
    capacity.learn(subscriptions: 30)
    capacity.learn(bytes: 900_000)
    #expect(capacity.subscriptions == 30)
    #expect(capacity.bytes == 500_000)
    capacity.learn(bytes: 200_000)
    capacity.learn(bytes: 300_000)
    capacity.says(subscriptions: 10)
    #expect(capacity.subscriptions == 10)
    #expect(capacity.bytes == 200_000)
    capacity.learn(subscriptions: 0)
    capacity.learn(bytes: 0)
    #expect(capacity.subscriptions == 3)
    #expect(capacity.bytes == 32_768)
}

@Test func guessesAreForgottenAndWordsAreNot() {
    var capacity = RelayCapacity(enough: 500_000)
    capacity.learn(bytes: 300_000)
    capacity.guess(subscriptions: 7, bytes: 100_000, until: 1_000)
    #expect(capacity.subscriptions == 7)
    #expect(capacity.bytes == 100_000)
    let early = capacity.forget(now: 999)
    #expect(!early)
    let isMore = capacity.forget(now: 1_000)
    #expect(isMore)
    #expect(capacity.forgetAt == nil)
    #expect(capacity.subscriptions == 20)
    #expect(capacity.bytes == 300_000)
}

@Test func onlyRefusalsOneAfterTheOtherMakeARow() {
    var row = RefusalStreak()
    func refuse(_ number: UInt64, last: UInt64) -> Bool { row.refused(number, last: last) }
    // Sent at once, so they are one refusal.
    #expect(!refuse(5, last: 9))
    #expect(!refuse(6, last: 9))
    #expect(!refuse(9, last: 9))
    #expect(!refuse(10, last: 10))
    #expect(refuse(11, last: 11))
    row = RefusalStreak()
    #expect(!refuse(20, last: 20))
    #expect(!refuse(21, last: 22))
    row.accepted(3)
    row.accepted(22)
    #expect(!refuse(23, last: 23))
    #expect(!refuse(24, last: 24))
    row.accepted(19)
    #expect(refuse(25, last: 25))
}
