import Cipher
import Nostr
import Schnorr
import Testing

@Suite struct KeyFileTests {
    static let hex = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa"
    static let nsec = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"

    @Test(arguments: [hex, hex + "\n", "  \(hex)\r\n", hex.uppercased(), nsec, nsec + "\n", "\n\t" + nsec + "\n\n"])
    func readsDigitsAndNsec(text: String) throws {
        #expect(Hex.encode(try KeyFile.parse(text).reveal()) == Self.hex)
    }

    @Test func readsWhatItWrites() throws {
        let key = try SecretKey(random: SecureRandom.bytes)
        let text = KeyFile.text(of: key)
        #expect(text.hasSuffix("\n"))
        #expect(try KeyFile.parse(text).reveal() == key.reveal())
    }

    @Test(
        arguments: [
            ("", .empty), (" \n", .empty), ("\(hex)\n\(hex)", .severalWords), ("key: \(hex)", .severalWords),
            ("npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6", .publicKey),
            (String(hex.dropLast()), .notAKey), (hex + "00", .notAKey), (String(nsec.dropLast()), .notAKey),
            ("nsec1", .notAKey), ("ключ", .notAKey), ("a12uel5l", .notAKey),
            (String(repeating: "0", count: 64), .outOfRange), (String(repeating: "f", count: 64), .outOfRange),
        ] as [(String, KeyFileError)]
    )
    func saysWhatIsWrong(text: String, error: KeyFileError) {
        #expect(throws: error) { try KeyFile.parse(text) }
        #expect("\(error)".hasPrefix("the key file"))
        #expect(!"\(error)".contains(Self.hex.prefix(8)))
    }
}
