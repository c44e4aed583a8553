import Nostr
import Testing
import TimeTestSupport

@testable import Registry

struct RegistrationPolicyTests {
    private let slot = RegistrationSlot(author: PublicKey(Bytes32(repeating: 1)))
    private let desk = RegistrationPolicy(keys: RouterKeyNames(PublicKey(Bytes32(repeating: 9))))

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

    private func registration(_ tags: [[String]], content: String = "x") -> Event {
        Event(
            id: EventID(Bytes32(repeating: 1)),
            pubkey: slot.author,
            createdAt: 100,
            kind: .pushRegistration,
            tags: tags,
            content: content,
            signature: Signature(first: Bytes32(repeating: 0), second: Bytes32(repeating: 0))
        )
    }

    private func read(_ tags: [[String]], content: String = "x") -> RegistrationPolicy.Reading {
        desk.read(registration(tags, content: content), now: 100_000)
    }

    @Test func invalidDTagIsExplained() {
        let ours = PublicKey(Bytes32(repeating: 9))
        let capital = PublicKey(Bytes32(repeating: 0xAB))
        #expect(read([["d", ours.hex]]) == .request(.register(slot, account: slot.author)))
        for tags in [[], [["d"]], [["d", ""]], [["p", ours.hex]]] as [[[String]]] {
            #expect(
                read(tags)
                    == .done(.refused(.invalid("tag d: expected our public key, \(ours.hex); found no such tag")))
            )
        }
        let npub = NIP19.npub(ours)
        for d in [npub, npub + ":phone"] {
            let reason = "tag d: expected our public key as \(ours.hex); found it as npub"
            #expect(read([["d", d]]) == .done(.refused(.invalid(reason))))
        }
        let event = registration([["d", capital.hex.uppercased() + ":phone"]])
        let reason = "tag d: expected our public key as \(capital.hex); found it with upper-case digits"
        #expect(
            RegistrationPolicy(keys: RouterKeyNames(capital)).read(event, now: 100_000)
                == .done(.refused(.invalid(reason)))
        )
        for d in [NIP19.npub(capital), capital.hex, "notification-relay", ours.hex + "00", ":" + ours.hex] {
            #expect(read([["d", d]]) == .done(.notForUs))
        }
    }

    @Test func otherProtocolVersionsAreRefused() {
        let d = ["d", PublicKey(Bytes32(repeating: 9)).hex]
        #expect(read([d, ["protocol_version", "1"]]) == .request(.register(slot, account: slot.author)))
        for version in [["protocol_version"], ["protocol_version", "2"], ["protocol_version", "1.0"]] {
            let reason = "tag protocol_version: expected 1, which this router speaks"
            #expect(read([d, version]) == .done(.refused(.unsupported(reason))))
            // Deregistering is always allowed.
            #expect(read([d, version], content: "") == .request(.deregister(slot)))
        }
    }

    @Test func responsesFollowNIP01() {
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
