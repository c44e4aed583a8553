import PluginKit
import PluginTestSupport
import Testing

/// Which ids are canonical, against the definition byte by byte.
struct MessageIDTests {
    private static let id = Array("0af5f4e9-9f4e-4c57-8c2e-d00000000c19".utf8)

    private func isCanonical(_ bytes: [UInt8]) -> Bool {
        let arena = ABIArena()
        return MessageID.isCanonical(BorrowedText(arena.bytes(bytes)))
    }

    @Test func everyByteAtEveryPositionIsChecked() {
        #expect(isCanonical(Self.id))
        for place in Self.id.indices {
            for byte in UInt8.min...UInt8.max {
                var bytes = Self.id
                bytes[place] = byte
                let isDigit = (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
                let isExpected = [8, 13, 18, 23].contains(place) ? byte == UInt8(ascii: "-") : isDigit
                if isCanonical(bytes) != isExpected { Issue.record("byte \(byte) at \(place)") }
            }
        }
    }

    @Test func idOfAnotherLengthIsInvalid() {
        #expect(!isCanonical([]))
        #expect(!isCanonical(Self.id.dropLast()))
        #expect(!isCanonical(Self.id + [0x30]))
    }
}
