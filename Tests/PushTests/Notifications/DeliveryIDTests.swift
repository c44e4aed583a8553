import Foundation
import Push
import Testing

@Suite struct DeliveryIDTests {
    private static let text = "01234567-89ab-cdef-0123-456789abcdef"

    @Test func textAndBytesMatchTheUUID() throws {
        for _ in 0..<100 {
            let uuid = UUID()
            let text = uuid.uuidString.lowercased()
            let id = try #require(DeliveryID(text))
            #expect(id.description == text)
            #expect(id.withText { String(decoding: $0, as: UTF8.self) } == text)
            #expect(id.withBytes(Array.init) == withUnsafeBytes(of: uuid.uuid, Array.init))
            #expect(id.withBytes { DeliveryID(bytes: $0) } == id)
        }
    }

    @Test func theSameBytesAreTheSameID() throws {
        let id = try #require(DeliveryID(Self.text))
        #expect(id == DeliveryID(Self.text))
        #expect(id.hashValue == DeliveryID(Self.text)?.hashValue)
        for place in 0..<DeliveryID.byteCount {
            var bytes = id.withBytes(Array.init)
            bytes[place] ^= 1
            #expect(bytes.withUnsafeBytes { DeliveryID(bytes: $0) } != id)
        }
    }

    @Test(arguments: [
        "", "a", "0123456789abcdef0123456789abcdef0123", "01234567-89ab-cdef-0123-456789abcdeF",
        "01234567-89ab-cdef-0123-456789abcde", "01234567-89ab-cdef-0123-456789abcdeg",
        "-1234567-89ab-cdef-0123-456789abcdef", "0123456-789ab-cdef-0123-456789abcdef",
        "01234567-89ab-cdef-0123--56789abcdef", "01234567-89ab-cdef-0123-456789abcd-f",
        "é1234567-89ab-cdef-0123-456789abcde", "01234567-89ab-cdef-0123-456789abcdef0",
    ])
    func otherTextIsNotADeliveryID(_ text: String) {
        #expect(DeliveryID(text) == nil)
    }

    @Test(arguments: [0, 15, 17, 36]) func otherByteCountsAreNotADeliveryID(_ count: Int) {
        #expect([UInt8](repeating: 7, count: count).withUnsafeBytes { DeliveryID(bytes: $0) } == nil)
    }

    @Test(arguments: [0, 0x5A, 0xFF] as [UInt8]) func anyBytesBecomeAUUIDOfAVersion(_ byte: UInt8) throws {
        for version in [4, 8] as [UInt8] {
            let id = [UInt8](repeating: byte, count: 16).withUnsafeBytes { DeliveryID(version: version, of: $0) }
            let bytes = id.withBytes(Array.init)
            #expect(bytes[6] == version << 4 | byte & 0x0F)
            #expect(bytes[8] == 0x80 | byte & 0x3F)
            #expect(bytes.enumerated().allSatisfy { [6, 8].contains($0) || $1 == byte })
        }
    }

    /// Tests and counters make ids that differ in one half only.
    @Test(arguments: [true, false]) func hashesDifferForIDsThatDifferInOneHalf(isFirst: Bool) {
        let ids = (0..<4_096 as Range<UInt64>).map { number in
            let halves = isFirst ? (number.bigEndian, 0) : (0, number.bigEndian)
            return withUnsafeBytes(of: halves) { DeliveryID(version: 8, of: $0) }
        }
        for seed in [0, 1, -1, 0x5555_5555_5555_5555] {
            #expect(Set(ids.map { $0._rawHashValue(seed: seed) & 0xFFF }).count > 1_000)
        }
        let set = Set(ids)
        #expect(ids.allSatisfy(set.contains))
    }
}
