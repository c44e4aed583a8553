import Nostr
import Testing

@testable import Registry

struct RegistrationDeskTests {
    private let slot = RegistrationSlot(author: PublicKey(Bytes32(repeating: 1)))
    private let desk = RegistrationDesk(ourKey: PublicKey(Bytes32(repeating: 9)))

    @Test func aSlotWithoutAMarkMustBeNewerThanTheFloor() {
        let state = AccountState(floor: 100)
        #expect(desk.weigh(.register(slot, account: slot.author), mark: mark(100), against: state) == .outdated)
        #expect(desk.weigh(.register(slot, account: slot.author), mark: mark(101), against: state) == nil)
        let known = AccountState(mark: mark(50), floor: 100)
        #expect(desk.weigh(.register(slot, account: slot.author), mark: mark(60), against: known) == nil)
    }

    @Test func theLimitConcernsNewDevicesOnly() {
        let full = AccountState(devices: 32)
        #expect(desk.weigh(.register(slot, account: slot.author), mark: mark(1), against: full)?.isAccepted == false)
        #expect(desk.weigh(.deregister(slot), mark: mark(1), against: full) == nil)
        let own = AccountState(mark: mark(0), isRegistered: true, devices: 32)
        #expect(desk.weigh(.register(slot, account: slot.author), mark: mark(1), against: own) == nil)
    }

    @Test func answersInTheWordsOfNIP01() {
        #expect(RegistrationResult.deregistered.message == "")
        #expect(RegistrationResult.duplicate.message.hasPrefix("duplicate: "))
        #expect(RegistrationResult.outdated.message.hasPrefix("invalid: "))
        #expect(RegistrationResult.ended.message.hasPrefix("invalid: "))
        #expect(RegistrationResult.superseded.message.hasPrefix("blocked: "))
        #expect(RegistrationResult.notForUs.message.hasPrefix("blocked: "))
        #expect(RegistrationResult.refused(.invalid("x")).message == "invalid: x")
        #expect(!RegistrationResult.notForUs.isAccepted)
        #expect(!RegistrationResult.refused(.blocked("x")).isAccepted)
    }

    private func mark(_ createdAt: Int64) -> SlotMark {
        SlotMark(createdAt: createdAt, id: EventID(Bytes32(repeating: 1)))
    }
}
