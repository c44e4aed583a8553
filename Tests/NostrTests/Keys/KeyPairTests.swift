import Cipher
import Nostr
import Schnorr
import Testing

@Suite struct KeyPairTests {
    @Test func signsIDs() throws {
        let pair = try KeyPair(random: SecureRandom.bytes)
        let id = try #require(EventID(bytes: SecureRandom.bytes(32)))
        let signature = try pair.sign(id)
        #expect(
            Schnorr.isValid(signature: signature.array, message: id.array, publicKey: pair.publicKey.array)
        )
    }

    /// BIP-340's test vector 1.
    @Test func signsAsBIP340DoesWithItsRandomness() throws {
        let secret = try #require(
            Hex.decode("b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfef")
        )
        let pair = try KeyPair(secret: SecretKey(bytes: secret))
        #expect(pair.publicKey.hex == "dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659")
        let id = try #require(EventID(hex: "243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89"))
        let signature = try pair.sign(id, random: { count in [UInt8](repeating: 0, count: count - 1) + [1] })
        let expected =
            "6896bd60eeae296db48a229ff71dfe071bde413e6d43f917dc8dcf8c78de3341"
            + "8906d11ac976abccb20b091292bff4ea897efcb639ea871cfa95f6de339e4b0a"
        #expect(Hex.encode(signature.array) == expected)
    }

    @Test func showsNothingOfItsSecret() throws {
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
