import Cipher
import Nostr
import Testing

@Suite struct SecretsTests {
    @Test func randomBytesHaveTheLengthAskedForAndDiffer() {
        #expect(SecureRandom.bytes(0) == [])
        #expect(SecureRandom.bytes(-1) == [])
        #expect(SecureRandom.bytes(1000).count == 1000)
        #expect(SecureRandom.bytes(32) != SecureRandom.bytes(32))
        #expect(Set(SecureRandom.bytes(10_000)).count == 256)
    }

    @Test func comparesWholeArrays() {
        #expect(ConstantTime.areEqual([], []))
        #expect(ConstantTime.areEqual([1, 2, 3], [1, 2, 3]))
        #expect(!ConstantTime.areEqual([1, 2, 3], [1, 2, 4]))
        #expect(!ConstantTime.areEqual([1, 2, 3], [0, 2, 3]))
        #expect(!ConstantTime.areEqual([1, 2, 3], [1, 2]))
        #expect(!ConstantTime.areEqual([], [0]))
    }

    /// Returns every form in which Swift prints a value without access to its parts.
    static func everyPrintedForm(of value: some Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        dump([value], to: &dumped)
        return [
            String(describing: value), String(reflecting: value), "\(value)", "\([value])", "\(Optional(value) as Any)",
            dumped,
        ]
    }

    @Test func secretKeyIsHiddenInDescriptions() throws {
        let bytes = (1...32).map { UInt8($0 + 100) }
        for text in Self.everyPrintedForm(of: try SecretKey(bytes: bytes)) {
            #expect(text.contains("SecretKey(concealed)"))
            #expect(!text.contains(Hex.encode(bytes)))
            #expect(!text.contains("101"))
        }
    }

    @Test func p256KeyIsHiddenInDescriptions() throws {
        let bytes = (1...32).map { UInt8($0 + 100) }
        for text in Self.everyPrintedForm(of: try P256PrivateKey(rawRepresentation: bytes)) {
            #expect(text.contains("P256PrivateKey(concealed)"))
            #expect(!text.contains(Hex.encode(bytes)))
            #expect(!text.contains("101"))
        }
    }

    @Test func errorsNameTheExpectedValue() {
        let length = CipherError.wrongLength(of: "secret key", expected: "32", actual: 3)
        #expect("\(length)" == "secret key must be 32 bytes, not 3")
        #expect("\(CipherError.notP256)".contains("P-256"))
    }
}
