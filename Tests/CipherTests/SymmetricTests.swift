import Cipher
import Testing

@Suite struct SymmetricTests {
    /// RFC 8439 section 2.4.2; its counter starts at 1, so one block goes before.
    @Test func enciphersAsRFC8439Does() throws {
        let text =
            "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
        let nonce: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0x4a, 0, 0, 0, 0]
        let plaintext = [UInt8](repeating: 0, count: 64) + text.utf8
        let ciphertext = try ChaCha20.apply(to: plaintext, key: Array(0..<32), nonce: nonce)
        let expected =
            "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0bf91b65c5524733ab8f593dabcd62b357"
            + "1639d624e65152ab8f530c359f0861d807ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736"
            + "5af90bbf74a35be6b40b8eedf2785e42874d"
        #expect(Hex.encode(ciphertext[64...]) == expected)
        #expect(try ChaCha20.apply(to: ciphertext, key: Array(0..<32), nonce: nonce) == plaintext)
    }

    /// RFC 8439 appendix A.1, test vector 1: the key stream of block 0.
    @Test func chachaCountsFromZero() throws {
        let zeros = [UInt8](repeating: 0, count: 64)
        let stream = try ChaCha20.apply(to: zeros, key: Array(zeros[..<32]), nonce: Array(zeros[..<12]))
        let expected =
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
            + "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
        #expect(Hex.encode(stream) == expected)
    }

    @Test func chachaRefusesOtherLengthsOfKeyAndNonce() throws {
        #expect(throws: CipherError.wrongLength(of: "ChaCha20 key", expected: "32", actual: 31)) {
            try ChaCha20.apply(to: [1], key: [UInt8](repeating: 0, count: 31), nonce: [UInt8](repeating: 0, count: 12))
        }
        #expect(throws: CipherError.wrongLength(of: "ChaCha20 nonce", expected: "12", actual: 16)) {
            try ChaCha20.apply(to: [1], key: [UInt8](repeating: 0, count: 32), nonce: [UInt8](repeating: 0, count: 16))
        }
    }

    /// The GCM specification's (McGrew and Viega) appendix B: key, nonce, plaintext, additional data, ciphertext and
    /// tag of test cases 1, 2, 4 and 16.
    static let sealed = [
        ["00000000000000000000000000000000", "000000000000000000000000", "", "", "58e2fccefa7e3061367f1d57a4e7455a"],
        [
            "00000000000000000000000000000000", "000000000000000000000000", "00000000000000000000000000000000", "",
            "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf",
        ],
        [
            "feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
            "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
                + "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091" + "5bc94fbc3221a5db94fae95ae7121a47",
        ],
        [
            "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
            "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662" + "76fc6ece0f4e1768cddf8853bb2d551b",
        ],
    ]

    @Test(arguments: sealed)
    func sealsAndOpensAsTheGCMSpecificationDoes(vector: [String]) throws {
        let parts = try vector.map { try #require(Hex.decode($0)) }
        let (key, nonce, plaintext, additional, sealed) = (parts[0], parts[1], parts[2], parts[3], parts[4])
        #expect(try AESGCM.seal(plaintext, key: key, nonce: nonce, authenticating: additional) == sealed)
        #expect(try AESGCM.open(sealed, key: key, nonce: nonce, authenticating: additional) == plaintext)
    }

    @Test func changedCiphertextIsRefused() throws {
        let key = [UInt8](repeating: 7, count: 16)
        let nonce = [UInt8](repeating: 9, count: 12)
        let sealed = try AESGCM.seal(Array("hello".utf8), key: key, nonce: nonce, authenticating: [1])
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: CipherError.authenticationFailed) {
                try AESGCM.open(changed, key: key, nonce: nonce, authenticating: [1])
            }
        }
        #expect(throws: CipherError.authenticationFailed) {
            try AESGCM.open(sealed, key: key, nonce: nonce, authenticating: [2])
        }
        #expect(throws: CipherError.authenticationFailed) { try AESGCM.open(sealed, key: key, nonce: nonce) }
    }

    @Test func gcmRefusesOtherLengths() {
        let nonce = [UInt8](repeating: 0, count: 12)
        let key = [UInt8](repeating: 0, count: 16)
        #expect(throws: CipherError.wrongLength(of: "AES-GCM key", expected: "16 or 32", actual: 24)) {
            try AESGCM.seal([], key: [UInt8](repeating: 0, count: 24), nonce: nonce)
        }
        #expect(throws: CipherError.wrongLength(of: "AES-GCM nonce", expected: "12", actual: 8)) {
            try AESGCM.seal([], key: key, nonce: [UInt8](repeating: 0, count: 8))
        }
        #expect(throws: CipherError.wrongLength(of: "AES-GCM ciphertext", expected: "at least 16", actual: 15)) {
            try AESGCM.open([UInt8](repeating: 0, count: 15), key: key, nonce: nonce)
        }
    }
}
