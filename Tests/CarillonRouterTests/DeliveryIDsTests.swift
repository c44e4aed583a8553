import Cipher
import Foundation
import Nostr
import Push
import Registry
import Testing

@testable import CarillonRouter
@testable import Operations

@Suite struct DeliveryIDsTests {
    private let event = EventID(Bytes32(words: (1, 2, 3, 4)))

    @Test func deliveryIDsAreLowercaseVersion8UUIDs() throws {
        let ids = try DeliveryIDs(RouterKeys(KeyPair(random: SecureRandom.bytes)).seeds)
        let id = ids.id(event, DeviceID(rawValue: 7)).description
        #expect(UUID(uuidString: id)?.uuidString.lowercased() == id)
        #expect(id.dropFirst(14).first == "8")
        #expect(try #require(id.dropFirst(19).first).isHexDigit && "89ab".contains(id.dropFirst(19).first ?? "x"))
    }

    @Test func deliveryIDsAreDeterministicAndUnique() throws {
        let seeds = RouterKeys(try KeyPair(random: SecureRandom.bytes)).seeds
        let (ids, again) = (try DeliveryIDs(seeds), try DeliveryIDs(seeds))
        let other = EventID(Bytes32(words: (1, 2, 3, 5)))
        #expect(ids.id(event, DeviceID(rawValue: 7)) == again.id(event, DeviceID(rawValue: 7)))
        #expect(ids.id(event, DeviceID(rawValue: 7)) != ids.id(event, DeviceID(rawValue: 8)))
        #expect(ids.id(event, DeviceID(rawValue: 7)) != ids.id(other, DeviceID(rawValue: 7)))
    }

    /// Otherwise a push service could identify the event by trying known ids.
    @Test func cannotBeComputedWithoutTheRoutersKey() throws {
        let ours = try DeliveryIDs(RouterKeys(KeyPair(random: SecureRandom.bytes)).seeds)
        let theirs = try DeliveryIDs(RouterKeys(KeyPair(random: SecureRandom.bytes)).seeds)
        #expect(ours.id(event, DeviceID(rawValue: 7)) != theirs.id(event, DeviceID(rawValue: 7)))
    }
}
