import Cipher
import Nostr
import Testing

@Suite struct KeyPairTests {
    @Test func signsIDs() throws {
        let pair = try KeyPair(random: SecureRandom.bytes)
        let id = try #require(EventID(bytes: SecureRandom.bytes(32)))
        let signature = try pair.sign(id)
        #expect(Schnorr.isValid(signature: signature.array, message: id.array, publicKey: pair.publicKey.array))
    }

    /// BIP-340's test vector 1.
    @Test func signsAsBIP340DoesWithItsRandomness() throws {
        let secret = try #require(Hex.decode("b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfef"))
        let pair = try KeyPair(secret: SecretKey(bytes: secret))
        #expect(pair.publicKey.hex == "dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659")
        let id = try #require(EventID(hex: "243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89"))
        let signature = try pair.sign(id, random: { count in [UInt8](repeating: 0, count: count - 1) + [1] })
        let expected =
            "6896bd60eeae296db48a229ff71dfe071bde413e6d43f917dc8dcf8c78de3341"
            + "8906d11ac976abccb20b091292bff4ea897efcb639ea871cfa95f6de339e4b0a"
        #expect(Hex.encode(signature.array) == expected)
    }

    @Test func secretIsHiddenInDescriptions() throws {
        let bytes = (1...32).map { UInt8($0 + 100) }
        let pair = try KeyPair(secret: SecretKey(bytes: bytes))
        var dumped = ""
        dump(pair, to: &dumped)
        for text in [String(describing: pair), String(reflecting: pair), "\(pair)", "\([pair])", dumped] {
            #expect(text.contains("KeyPair(concealed)"))
            #expect(!text.contains(Hex.encode(bytes)))
            #expect(!text.contains("101"))
        }
    }
}

@Suite struct KeyFileTests {
    static let hex = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa"
    static let nsec = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"

    @Test(arguments: [hex, hex + "\n", "  \(hex)\r\n", hex.uppercased(), nsec, nsec + "\n", "\n\t" + nsec + "\n\n"])
    func readsDigitsAndNsec(text: String) throws {
        #expect(Hex.encode(try KeyFile.parse(text).reveal()) == Self.hex)
    }

    @Test func writtenFormRoundTrips() throws {
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
    func invalidKeyNamesTheError(text: String, error: KeyFileError) {
        #expect(throws: error) { try KeyFile.parse(text) }
        #expect("\(error)".hasPrefix("the key file"))
        #expect(!"\(error)".contains(Self.hex.prefix(8)))
    }
}

@Suite struct Bytes32Tests {
    static let hex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff"

    @Test func readsAndWritesHexAndArrays() throws {
        let bytes = try #require(Bytes32(hex: Self.hex))
        #expect(bytes.array == Array(0...30) + [0xff])
        #expect(bytes.hex == Self.hex)
        #expect(Bytes32(bytes: bytes.array) == bytes)
        #expect(Bytes32(bytes: ([9] + bytes.array).dropFirst()) == bytes)
        #expect(Bytes32(hex: "x\(Self.hex)".dropFirst()) == bytes)
        #expect(bytes.withUnsafeBytes { Array($0) } == bytes.array)
    }

    @Test func wrappersShareItsForms() throws {
        let id = try #require(EventID(hex: Self.hex))
        let key = try #require(PublicKey(hex: Self.hex))
        #expect(id.hex == Self.hex)
        #expect(key.hex == Self.hex)
        #expect(EventID(bytes: id.array) == id)
        #expect(PublicKey(bytes: key.array) == key)
        #expect(EventID(hex: "") == nil)
        #expect(PublicKey(bytes: []) == nil)
    }

    @Test(arguments: [
        "", "00", "\(hex.dropLast())", "\(hex)0", "\(hex)00", hex.uppercased(), " \(hex.dropFirst())",
        "\(hex.dropLast())g", "ф\(hex.dropFirst(2))", "\(hex.dropLast())\0",
    ])
    func hexIsExactly64LowercaseDigits(text: String) {
        #expect(Bytes32(hex: text) == nil)
    }

    @Test(arguments: [0, 31, 33, 64])
    func takesExactly32Bytes(count: Int) {
        #expect(Bytes32(bytes: [UInt8](repeating: 1, count: count)) == nil)
    }

    @Test func agreesWithHexOnRandomBytes() throws {
        for _ in 0..<500 {
            let bytes = SecureRandom.bytes(32)
            #expect(Bytes32(hex: Hex.encode(bytes))?.array == bytes)
            #expect(Bytes32(bytes: bytes)?.hex == Hex.encode(bytes))
        }
    }

    @Test func ordersAsTheHexTextsDo() throws {
        let ids = try (0..<200).map { _ in try #require(EventID(bytes: SecureRandom.bytes(32))) }
        #expect(ids.sorted().map(\.hex) == ids.map(\.hex).sorted())
        // Ids that agree in all but one byte.
        let base = [UInt8](repeating: 7, count: 32)
        for index in base.indices {
            var larger = base
            larger[index] = 8
            let (small, large) = (try #require(Bytes32(bytes: base)), try #require(Bytes32(bytes: larger)))
            #expect(small < large)
            #expect(!(large < small))
            #expect(!(small < small))
        }
    }

    @Test func aSignatureHas64Bytes() throws {
        let bytes = SecureRandom.bytes(64)
        let signature = try #require(Signature(bytes: bytes))
        #expect(signature.array == bytes)
        #expect(signature.first.array == Array(bytes[..<32]))
        #expect(Signature(bytes: bytes.dropLast()) == nil)
        #expect(Signature(bytes: bytes + [0]) == nil)
    }

    /// Attackers choose keys. Keys that differ in one word must not collide in a table, and keys that collide in one
    /// table must not collide in the next.
    @Test(arguments: 0..<4) func hashesDifferForKeysThatDifferInOneWord(word: Int) {
        let keys = (0..<4_096 as Range<UInt64>).map { number in
            var words: (UInt64, UInt64, UInt64, UInt64) = (1, 2, 3, 4)
            withUnsafeMutableBytes(of: &words) { $0.storeBytes(of: number, toByteOffset: word * 8, as: UInt64.self) }
            return EventID(Bytes32(words: words))
        }
        // 4,096 keys placed at random into 4,096 slots fill 2,589 on average; fewer than 2,400 would be a bad hash.
        for seed in [0, 1, -1, 0x5555_5555_5555_5555] {
            #expect(Set(keys.map { $0._rawHashValue(seed: seed) & 0xFFF }).count > 2_400)
        }
        #expect(keys.count { $0._rawHashValue(seed: 1) & 0xFFF == $0._rawHashValue(seed: 2) & 0xFFF } < 100)
        let set = Set(keys)
        #expect(set.count == 4_096 && keys.allSatisfy(set.contains))
        let pairs = Set(keys.map { [$0, keys[0]] })
        #expect(pairs.count == 4_096 && pairs.contains([keys[9], keys[0]]) && !pairs.contains([keys[9], keys[1]]))
    }
}
