import Cipher
import Nostr
import Push
import Registry

/// Derives delivery IDs from an event and a device, so that a retry after a crash has the same `apns-id`. The
/// derivation is keyed, so that a push service cannot find the event.
package struct DeliveryIDs: Sendable {
    /// The length of an event's ID and a device's number, in bytes.
    private static let messageLength = 40

    private let code: HMACSHA256Authenticator

    package init(_ seeds: KeySeeds) throws {
        code = HMACSHA256Authenticator(
            key: try HKDFSHA256.expand(pseudoRandomKey: seeds[.deliveryIDs], info: [], length: 32)
        )
    }

    /// Returns a UUID of version 8 (RFC 9562).
    @Sendable package func id(_ event: EventID, _ device: DeviceID) -> DeliveryID {
        // On the stack, because each push needs one: the message followed by the authentication code.
        withUnsafeTemporaryAllocation(byteCount: Self.messageLength + HMACSHA256.byteCount, alignment: 8) { room in
            event.bytes.withUnsafeBytes { room.copyMemory(from: $0) }
            room.storeBytes(of: device.rawValue.bigEndian, toByteOffset: 32, as: Int64.self)
            let result = UnsafeMutableRawBufferPointer(rebasing: room[Self.messageLength...])
            code.authenticate(UnsafeRawBufferPointer(rebasing: room[..<Self.messageLength]), into: result)
            return DeliveryID(version: 8, of: UnsafeRawBufferPointer(result))
        }
    }

    /// Returns a random UUID (RFC 9562 version 4), for a push without an event.
    package static func fresh(random: RandomBytes = SecureRandom.bytes) -> DeliveryID {
        random(DeliveryID.byteCount).withUnsafeBytes { DeliveryID(version: 4, of: $0) }
    }

    /// A constant ID for trials, because their requests are shown.
    static let trial = fresh { [UInt8](repeating: 0, count: $0) }
}

/// Encodes the ID as its text, even as the key of a dictionary.
extension DeliveryID: Codable, CodingKeyRepresentable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = DeliveryID(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a delivery id")
        }
        self = id
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    package var codingKey: any CodingKey { Key(stringValue: description) }

    package init?(codingKey: some CodingKey) { self.init(codingKey.stringValue) }
}
