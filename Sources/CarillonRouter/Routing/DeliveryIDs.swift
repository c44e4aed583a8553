import Cipher
import Nostr
import Notifications
import Schnorr

/// Names deliveries: the same for the same event and device, so that a repeat after a crash carries the same `apns-id`.
/// Keyed, so that a push service cannot tell from it which event it was.
struct DeliveryIDs: Sendable {
    private let key: [UInt8]

    init(identity: KeyPair) throws {
        let secret = HKDFSHA256.extract(
            salt: Array("carillon delivery id".utf8),
            inputKeyMaterial: identity.secret.reveal()
        )
        key = try HKDFSHA256.expand(pseudoRandomKey: secret, info: [], length: 32)
    }

    /// A UUID in canonical lower case (RFC 9562 version 8).
    @Sendable func id(_ event: EventID, _ device: DeviceID) -> String {
        let number = withUnsafeBytes(of: device.rawValue.bigEndian, Array.init)
        var bytes = Array(HMACSHA256.authenticationCode(for: event.array + number, key: key).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let hex = Hex.encode(bytes)
        var parts: [Substring] = []
        var rest = hex[...]
        for length in [8, 4, 4, 4, 12] {
            parts.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return parts.joined(separator: "-")
    }
}
