import Cipher
import Nostr
import Notifications
import Schnorr

/// Names deliveries: the same for the same event and device, so that a repeat after a crash carries the same `apns-id`.
/// Keyed, so that a push service cannot tell from it which event it was.
package struct DeliveryIDs: Sendable {
    private let key: [UInt8]

    package init(identity: KeyPair) throws {
        let secret = HKDFSHA256.extract(
            salt: Array("carillon delivery id".utf8),
            inputKeyMaterial: identity.secret.reveal()
        )
        key = try HKDFSHA256.expand(pseudoRandomKey: secret, info: [], length: 32)
    }

    /// A UUID in canonical lower case (RFC 9562 version 8).
    @Sendable package func id(_ event: EventID, _ device: DeviceID) -> String {
        let number = withUnsafeBytes(of: device.rawValue.bigEndian, Array.init)
        let code = HMACSHA256.authenticationCode(for: event.array + number, key: key)
        return Self.uuid(Array(code.prefix(16)), version: 8)
    }

    /// A UUID that nothing else has (RFC 9562 version 4), for what is no event.
    package static func fresh(random: RandomBytes = SecureRandom.bytes) -> String {
        uuid(random(16), version: 4)
    }

    /// `bytes` are 16.
    private static func uuid(_ bytes: [UInt8], version: UInt8) -> String {
        var bytes = bytes
        bytes[6] = bytes[6] & 0x0F | version << 4
        bytes[8] = bytes[8] & 0x3F | 0x80
        // Byte by byte, since each push has one.
        return String(unsafeUninitializedCapacity: 36) { text in
            var place = 0
            for (index, byte) in bytes.enumerated() {
                if [4, 6, 8, 10].contains(index) {
                    text[place] = UInt8(ascii: "-")
                    place += 1
                }
                for digit in [byte >> 4, byte & 0x0F] {
                    text[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
                    place += 1
                }
            }
            return place
        }
    }
}
