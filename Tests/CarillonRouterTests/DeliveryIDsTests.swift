import Cipher
import Foundation
import Nostr
import Notifications
import Testing

@testable import CarillonRouter
@testable import Operations

@Suite struct DeliveryIDsTests {
    private let event = EventID(Bytes32(words: (1, 2, 3, 4)))

    @Test func areCanonicalLowerCaseUUIDsOfVersion8() throws {
        let ids = try DeliveryIDs(identity: KeyPair(random: SecureRandom.bytes))
        let id = ids.id(event, DeviceID(rawValue: 7))
        #expect(UUID(uuidString: id)?.uuidString.lowercased() == id)
        #expect(id.dropFirst(14).first == "8")
        #expect(try #require(id.dropFirst(19).first).isHexDigit && "89ab".contains(id.dropFirst(19).first ?? "x"))
    }

    @Test func areTheSameForTheSameDeliveryAndNoOther() throws {
        let identity = try KeyPair(random: SecureRandom.bytes)
        let (ids, again) = (try DeliveryIDs(identity: identity), try DeliveryIDs(identity: identity))
        let other = EventID(Bytes32(words: (1, 2, 3, 5)))
        #expect(ids.id(event, DeviceID(rawValue: 7)) == again.id(event, DeviceID(rawValue: 7)))
        #expect(ids.id(event, DeviceID(rawValue: 7)) != ids.id(event, DeviceID(rawValue: 8)))
        #expect(ids.id(event, DeviceID(rawValue: 7)) != ids.id(other, DeviceID(rawValue: 7)))
    }

    /// Else a push service could find out the event by trying known ids.
    @Test func cannotBeComputedWithoutTheRoutersKey() throws {
        let ours = try DeliveryIDs(identity: KeyPair(random: SecureRandom.bytes))
        let theirs = try DeliveryIDs(identity: KeyPair(random: SecureRandom.bytes))
        #expect(ours.id(event, DeviceID(rawValue: 7)) != theirs.id(event, DeviceID(rawValue: 7)))
    }
}
