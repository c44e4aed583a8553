import Cipher
import Nostr
import Notifications
import Registry

/// Names deliveries: the same for the same event and device, so that a repeat after a crash carries the same `apns-id`.
/// Keyed, so that a push service cannot tell from it which event it was.
package struct DeliveryIDs: Sendable {
    /// An event's id and a device's number.
    private static let messageLength = 40

    private let code: HMACSHA256Authenticator

    package init(_ seeds: KeySeeds) throws {
        code = HMACSHA256Authenticator(
            key: try HKDFSHA256.expand(pseudoRandomKey: seeds[.deliveryIDs], info: [], length: 32)
        )
    }

    /// A UUID in canonical lower case (RFC 9562 version 8).
    @Sendable package func id(_ event: EventID, _ device: DeviceID) -> String {
        // On the stack, since each push has one: the message and, behind it, the code.
        withUnsafeTemporaryAllocation(byteCount: Self.messageLength + HMACSHA256.byteCount, alignment: 8) { room in
            event.bytes.withUnsafeBytes { room.copyMemory(from: $0) }
            room.storeBytes(of: device.rawValue.bigEndian, toByteOffset: 32, as: Int64.self)
            let result = UnsafeMutableRawBufferPointer(rebasing: room[Self.messageLength...])
            code.authenticate(UnsafeRawBufferPointer(rebasing: room[..<Self.messageLength]), into: result)
            return Self.uuid(UnsafeRawBufferPointer(rebasing: result[..<16]), version: 8)
        }
    }

    /// A UUID that nothing else has (RFC 9562 version 4), for what is no event.
    package static func fresh(random: RandomBytes = SecureRandom.bytes) -> String {
        random(16).withUnsafeBytes { uuid($0, version: 4) }
    }

    /// `bytes` are 16.
    private static func uuid(_ bytes: UnsafeRawBufferPointer, version: UInt8) -> String {
        // Byte by byte, since each push has one.
        String(unsafeUninitializedCapacity: 36) { text in
            var place = 0
            func put(_ digit: UInt8) {
                text[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
                place += 1
            }
            for (index, byte) in bytes.enumerated() {
                switch index {
                case 4, 6, 8, 10:
                    text[place] = UInt8(ascii: "-")
                    place += 1
                default: break
                }
                let byte =
                    switch index {
                    case 6: byte & 0x0F | version << 4
                    case 8: byte & 0x3F | 0x80
                    default: byte
                    }
                put(byte >> 4)
                put(byte & 0x0F)
            }
            return place
        }
    }
}
