import Cipher
import Nostr
import Testing

@Suite struct SchnorrTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let index: String
        let secretKey: [UInt8]
        let publicKey: [UInt8]
        let auxiliaryRandomness: [UInt8]
        let message: [UInt8]
        let signature: [UInt8]
        let isValid: Bool

        var testDescription: String {
            "row \(self.index)"
        }

        init(_ line: Substring) throws {
            let cells = line.split(separator: ",", omittingEmptySubsequences: false)
            try #require(cells.count >= 7)
            let bytes = try cells[1...5].map { try #require(Hex.decode(anyCase: $0)) }
            self.index = String(cells[0])
            self.secretKey = bytes[0]
            self.publicKey = bytes[1]
            self.auxiliaryRandomness = bytes[2]
            self.message = bytes[3]
            self.signature = bytes[4]
            try #require(["TRUE", "FALSE"].contains(cells[6]))
            self.isValid = cells[6] == "TRUE"
        }

        static func all() throws -> [Row] {
            try Vectors.text("bip340-test-vectors.csv").split(whereSeparator: \.isNewline).dropFirst().map(Row.init)
        }
    }

    @Test func theVectorsAreAllThere() throws {
        let rows = try Row.all()
        #expect(rows.count == 19)
        #expect(rows.filter { !$0.secretKey.isEmpty }.count == 8)
        #expect(rows.filter { !$0.isValid }.count == 10)
        #expect(Set(rows.map(\.message.count)).isSuperset(of: [0, 1, 17, 32, 100]))
    }

    @Test(arguments: try Row.all())
    func verifiesAsBIP340Does(row: Row) {
        #expect(
            Schnorr.isValid(signature: row.signature, message: row.message, publicKey: row.publicKey) == row.isValid
        )
    }

    /// With a capacity of one, each key evicts the last one.
    @Test(arguments: [1, 2, 1024])
    func cachedKeysChangeNoVerdict(count: Int) throws {
        let keys = ParsedKeys(count: count)
        let rows = try Row.all()
        for row in rows + rows.reversed() + rows.flatMap({ [$0, $0] }) {
            #expect(
                Schnorr.isValid(
                    signature: row.signature,
                    message: row.message,
                    publicKey: row.publicKey,
                    keys: keys
                ) == row.isValid,
                "\(row)"
            )
        }
    }

    @Test(arguments: try Row.all().filter { !$0.secretKey.isEmpty })
    func signsAsBIP340Does(row: Row) throws {
        let key = try SecretKey(bytes: row.secretKey)
        #expect(key.publicKeyBytes == row.publicKey)
        #expect(try key.sign(row.message, auxiliaryRandomness: row.auxiliaryRandomness) == row.signature)
        #expect(key.reveal() == row.secretKey)
    }

    @Test func anythingOfAnotherLengthIsNotValid() throws {
        let row = try #require(try Row.all().first)
        #expect(!Schnorr.isValid(signature: [], message: row.message, publicKey: row.publicKey))
        #expect(!Schnorr.isValid(signature: row.signature, message: row.message, publicKey: []))
        #expect(!Schnorr.isValid(signature: row.signature + [0], message: row.message, publicKey: row.publicKey))
        #expect(!Schnorr.isValid(signature: row.signature, message: row.message, publicKey: row.publicKey + [0]))
    }

    @Test func invalidSecretKeyIsRefused() throws {
        let order = try #require(Hex.decode("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"))
        #expect(throws: CipherError.invalidSecretKey) { try SecretKey(bytes: order) }
        #expect(throws: CipherError.invalidSecretKey) { try SecretKey(bytes: [UInt8](repeating: 0, count: 32)) }
        #expect(throws: CipherError.wrongLength(of: "secret key", expected: "32", actual: 0)) {
            try SecretKey(bytes: [])
        }
        #expect(throws: CipherError.wrongLength(of: "secret key", expected: "32", actual: 33)) {
            try SecretKey(bytes: order + [0])
        }
    }

    @Test func makesKeysOfInjectedRandomness() throws {
        let bytes = [UInt8](repeating: 3, count: 32)
        #expect(try SecretKey(random: { [UInt8](repeating: 3, count: $0) }).reveal() == bytes)
        #expect(throws: CipherError.wrongLength(of: "secret key", expected: "32", actual: 1)) {
            try SecretKey(random: { _ in [1] })
        }
        #expect(try SecretKey(random: SecureRandom.bytes).reveal() != SecretKey(random: SecureRandom.bytes).reveal())
    }

    @Test func bothSidesShareAnX() throws {
        let one = try SecretKey(random: SecureRandom.bytes)
        let other = try SecretKey(random: SecureRandom.bytes)
        #expect(try one.sharedX(withXOnly: other.publicKeyBytes) == other.sharedX(withXOnly: one.publicKeyBytes))
    }

    /// One times a point is that point.
    @Test func theSharedXIsNotHashed() throws {
        var one = [UInt8](repeating: 0, count: 32)
        one[31] = 1
        let other = try SecretKey(random: SecureRandom.bytes)
        #expect(try SecretKey(bytes: one).sharedX(withXOnly: other.publicKeyBytes) == other.publicKeyBytes)
    }

    @Test func invalidPointGivesNoSharedSecret() throws {
        let key = try SecretKey(random: SecureRandom.bytes)
        #expect(throws: CipherError.notOnCurve) { try key.sharedX(withXOnly: [UInt8](repeating: 0xff, count: 32)) }
        #expect(throws: CipherError.notOnCurve) { try key.sharedX(withXOnly: [UInt8](repeating: 0, count: 32)) }
        #expect(throws: CipherError.wrongLength(of: "public key", expected: "32", actual: 0)) {
            try key.sharedX(withXOnly: [])
        }
    }

    @Test func auxiliaryRandomnessHas32Bytes() throws {
        let key = try SecretKey(random: SecureRandom.bytes)
        #expect(throws: CipherError.wrongLength(of: "auxiliary randomness", expected: "32", actual: 31)) {
            try key.sign([1], auxiliaryRandomness: [UInt8](repeating: 0, count: 31))
        }
    }
}
