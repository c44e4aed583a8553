import Cipher
import CostTestSupport
import Nostr
import Testing

@Suite struct NIP44Tests {
    let vectors: NIP44Vectors.Version2

    init() throws {
        self.vectors = try NIP44Vectors.load()
    }

    private func bytes(_ hex: String) throws -> [UInt8] {
        try #require(Hex.decode(hex))
    }

    private func conversation(_ hex: String) throws -> ConversationKey {
        try ConversationKey(bytes: self.bytes(hex))
    }

    private func sha256(_ text: String) -> String {
        Hex.encode(SHA256.hash(Array(text.utf8)))
    }

    @Test func conversationKeys() throws {
        #expect(self.vectors.valid.get_conversation_key.count == 35)
        for vector in self.vectors.valid.get_conversation_key {
            let key = try ConversationKey(
                secret: SecretKey(bytes: self.bytes(vector.sec1)),
                public: #require(PublicKey(hex: vector.pub2))
            )
            #expect(Hex.encode(key.reveal()) == vector.conversation_key)
        }
    }

    @Test func conversationKeysOfNoKeys() throws {
        #expect(self.vectors.invalid.get_conversation_key.count == 8)
        for vector in self.vectors.invalid.get_conversation_key {
            let publicKey = try #require(PublicKey(hex: vector.pub2))
            let secret = try self.bytes(vector.sec1)
            #expect(throws: CipherError.self, "\(vector.note)") {
                try ConversationKey(secret: SecretKey(bytes: secret), public: publicKey)
            }
        }
    }

    @Test func messageKeys() throws {
        let conversation = try self.conversation(self.vectors.valid.get_message_keys.conversation_key)
        #expect(self.vectors.valid.get_message_keys.keys.count == 32)
        for vector in self.vectors.valid.get_message_keys.keys {
            let keys = try MessageKeys(conversation: conversation, nonce: self.bytes(vector.nonce))
            #expect(Hex.encode(keys.chachaKey) == vector.chacha_key)
            #expect(Hex.encode(keys.chachaNonce) == vector.chacha_nonce)
            #expect(Hex.encode(keys.hmacKey) == vector.hmac_key)
        }
    }

    @Test func paddedLengths() throws {
        #expect(self.vectors.valid.calc_padded_len.count == 24)
        for vector in self.vectors.valid.calc_padded_len {
            #expect(NIP44.paddedLength(vector[0]) == vector[1])
        }
        #expect(NIP44.paddedLength(1) == 32)
        #expect(NIP44.paddedLength(Int(UInt32.max)) == 1 << 32)
    }

    @Test func messagesBothWays() throws {
        #expect(self.vectors.valid.encrypt_decrypt.count == 10)
        for vector in self.vectors.valid.encrypt_decrypt {
            let first = try KeyPair(secret: SecretKey(bytes: self.bytes(vector.sec1)))
            let second = try KeyPair(secret: SecretKey(bytes: self.bytes(vector.sec2)))
            let key = try ConversationKey(secret: first.secret, public: second.publicKey)
            let sameKey = try ConversationKey(secret: second.secret, public: first.publicKey)
            #expect(Hex.encode(key.reveal()) == vector.conversation_key)
            #expect(try NIP44.encrypt(vector.plaintext, key: key, nonce: self.bytes(vector.nonce)) == vector.payload)
            #expect(try NIP44.decryptText(vector.payload, key: sameKey) == vector.plaintext)
        }
    }

    @Test func longMessages() throws {
        #expect(self.vectors.valid.encrypt_decrypt_long_msg.count == 3)
        for vector in self.vectors.valid.encrypt_decrypt_long_msg {
            let key = try self.conversation(vector.conversation_key)
            #expect(self.sha256(vector.plaintext) == vector.plaintext_sha256)
            let payload = try NIP44.encrypt(vector.plaintext, key: key, nonce: self.bytes(vector.nonce))
            #expect(self.sha256(payload) == vector.payload_sha256)
            #expect(try NIP44.decryptText(payload, key: key) == vector.plaintext)
        }
    }

    @Test func messagesAroundTheExtendedPrefix() throws {
        let vectors = try NIP44Vectors.loadExtendedPrefix()
        #expect(vectors.map(\.repeat) == [65_535, 65_536, 65_537])
        for vector in vectors {
            let key = try self.conversation(vector.conversation_key)
            let plaintext = String(repeating: vector.pattern, count: vector.repeat)
            #expect(NIP44.paddedLength(vector.repeat) == vector.padded_len)
            #expect(self.sha256(plaintext) == vector.plaintext_sha256)
            let payload = try NIP44.encrypt(plaintext, key: key, nonce: self.bytes(vector.nonce))
            #expect(self.sha256(payload) == vector.payload_sha256)
            #expect(try NIP44.decryptText(payload, key: key) == plaintext)
        }
    }

    /// The list predates the extended length prefix, which allows 65536 bytes and more. Only its length 0 is still
    /// invalid, so the others must work.
    @Test func onlyTheEmptyMessageIsInvalidSinceTheExtendedPrefix() throws {
        #expect(self.vectors.invalid.encrypt_msg_lengths == [0, 65_536, 100_000, 10_000_000])
        let key = try ConversationKey(bytes: [UInt8](repeating: 1, count: 32))
        let nonce = [UInt8](repeating: 2, count: 32)
        #expect(throws: NIP44Error.invalidPlaintextLength) { try NIP44.encrypt("", key: key, nonce: nonce) }
        // The longest takes seconds without an optimizer.
        for length in [65_536, 100_000] + (TestLength.isLong ? [10_000_000] : []) {
            let plaintext = [UInt8](repeating: 0x61, count: length)
            let payload = try NIP44.encrypt(plaintext, key: key, nonce: nonce)
            #expect(try NIP44.decrypt(payload, key: key, limit: payload.utf8.count) == plaintext)
        }
    }

    @Test func payloadsThatMustNotDecrypt() throws {
        let expected: [String: NIP44Error] = [
            "unknown encryption version": .unsupportedVersion,
            "unknown encryption version 0": .unsupportedVersion,
            "invalid base64": .notBase64,
            "invalid MAC": .invalidMAC,
            "invalid padding": .invalidPadding,
            "invalid payload length: 0": .invalidLength,
            "invalid payload length: 4": .invalidLength,
            "invalid payload length: 48": .invalidLength,
            "invalid payload length: 92": .invalidLength,
        ]
        #expect(self.vectors.invalid.decrypt.count == 12)
        for vector in self.vectors.invalid.decrypt {
            let key = try self.conversation(vector.conversation_key)
            let error = try #require(expected[vector.note])
            #expect(throws: error, "\(vector.note)") { try NIP44.decrypt(vector.payload, key: key) }
        }
    }

    @Test func aPayloadBeyondTheLimitIsNotEvenDecoded() throws {
        let key = try ConversationKey(bytes: [UInt8](repeating: 1, count: 32))
        let payload = try NIP44.encrypt("a", key: key, nonce: [UInt8](repeating: 2, count: 32))
        #expect(payload.utf8.count == 132)
        #expect(throws: NIP44Error.tooLong(limit: 131)) { try NIP44.decrypt(payload, key: key, limit: 131) }
        #expect(try NIP44.decryptText(payload, key: key, limit: 132) == "a")
        let notBase64 = String(repeating: "!", count: NIP44.defaultPayloadLimit + 1)
        #expect(throws: NIP44Error.tooLong(limit: NIP44.defaultPayloadLimit)) {
            try NIP44.decrypt(notBase64, key: key)
        }
    }

    @Test func aMebibyteFitsTheDefaultLimit() throws {
        let key = try ConversationKey(bytes: [UInt8](repeating: 1, count: 32))
        let plaintext = [UInt8](repeating: 0x61, count: 1 << 20)
        let payload = try NIP44.encrypt(plaintext, key: key, nonce: [UInt8](repeating: 2, count: 32))
        #expect(try NIP44.decrypt(payload, key: key) == plaintext)
    }

    @Test func everyLengthRoundTrips() throws {
        let key = try ConversationKey(bytes: [UInt8](repeating: 1, count: 32))
        for length in 1...700 {
            let plaintext = SecureRandom.bytes(length)
            let payload = try NIP44.encrypt(plaintext, key: key, nonce: SecureRandom.bytes(32))
            #expect(try NIP44.decrypt(payload, key: key) == plaintext)
        }
    }

    @Test func everyChangedByteIsDetected() throws {
        let key = try ConversationKey(bytes: [UInt8](repeating: 1, count: 32))
        let payload = try NIP44.encrypt("a", key: key, nonce: [UInt8](repeating: 2, count: 32))
        let bytes = try #require(Base64.decode(payload))
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(throws: index == 0 ? NIP44Error.unsupportedVersion : .invalidMAC) {
                try NIP44.decrypt(Base64.encode(changed), key: key)
            }
        }
    }

    @Test func nonTextPlaintextIsReturnedAsBytes() throws {
        let key = try ConversationKey(bytes: [UInt8](repeating: 1, count: 32))
        let payload = try NIP44.encrypt([0xff, 0xfe], key: key, nonce: [UInt8](repeating: 2, count: 32))
        #expect(try NIP44.decrypt(payload, key: key) == [0xff, 0xfe])
        #expect(throws: NIP44Error.notText) { try NIP44.decryptText(payload, key: key) }
    }

    @Test func aNonceHas32Bytes() throws {
        let key = try ConversationKey(bytes: [UInt8](repeating: 1, count: 32))
        #expect(throws: NIP44Error.invalidNonce) { try NIP44.encrypt("a", key: key, nonce: [1]) }
    }

    /// An author with the key can lie about the length; then the MAC is valid, but the padding is not.
    @Test(
        arguments: [
            [0, 0], [0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0xff, 0xff], [0, 0, 0, 1, 0, 0], [0, 0, 0xff, 0xff, 0xff, 0xff],
            [0, 33], [0xff, 0xff],
        ] as [[UInt8]]
    )
    func falseLengthPrefixesAreRefused(prefix: [UInt8]) throws {
        let conversation = try ConversationKey(bytes: [UInt8](repeating: 1, count: 32))
        let nonce = [UInt8](repeating: 2, count: 32)
        let keys = try MessageKeys(conversation: conversation, nonce: nonce)
        let padded = prefix + [UInt8](repeating: 0, count: 34 - prefix.count)
        let sealed = nonce + (try ChaCha20.apply(to: padded, key: keys.chachaKey, nonce: keys.chachaNonce))
        let mac = HMACSHA256.authenticationCode(for: sealed, key: keys.hmacKey)
        #expect(throws: NIP44Error.invalidPadding) {
            try NIP44.decrypt(Base64.encode([2] + sealed + mac), key: conversation)
        }
    }

    @Test func keysAreHiddenInDescriptions() throws {
        let conversation = try ConversationKey(bytes: [UInt8](repeating: 201, count: 32))
        let keys = try MessageKeys(conversation: conversation, nonce: [UInt8](repeating: 2, count: 32))
        for value in [conversation, keys] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in [String(describing: value), String(reflecting: value), "\(value)", dumped] {
                #expect(text.contains("(concealed)"))
                #expect(!text.contains("201"))
                #expect(!text.contains("["))
            }
        }
    }
}

@Suite struct RemoteSigningMessageTests {
    @Test func requestsAreReadAsClientsWriteThem() throws {
        let json = #"{"id":"27","method":"connect","params":["ab", null, "p\"q"],"extra":[1]}"#
        let request = try RemoteSigningRequest(json: json)
        #expect(request == RemoteSigningRequest(id: "27", method: "connect", params: ["ab", "", "p\"q"]))
        #expect(try RemoteSigningRequest(json: request.json) == request)
        #expect(try RemoteSigningRequest(json: #"{"id":"1","method":"ping"}"#).params.isEmpty)
        #expect(try RemoteSigningRequest(json: #"{"id":"1","method":"ping","params":null}"#).params.isEmpty)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"id":1,"method":"ping"}"#, #"{"id":"","method":"ping"}"#,
        #"{"id":"1","id":"2","method":"ping"}"#,
        #"{"id":"\#(String(repeating: "x", count: 257))","method":"ping"}"#,
    ])
    func unanswerableRequestIsReported(_ json: String) {
        #expect(throws: RemoteSigningRequestError.notARequest) { try RemoteSigningRequest(json: json) }
    }

    @Test(arguments: [
        #"{"id":"1"}"#, #"{"id":"1","method":7}"#, #"{"id":"1","method":""}"#, #"{"id":"1","method":"m","params":{}}"#,
        #"{"id":"1","method":"m","params":["a",1]}"#, #"{"id":"1","method":"m","params":"a"}"#,
    ])
    func invalidRequestsKeepTheirIDForTheResponse(_ json: String) {
        let error = #expect(throws: RemoteSigningRequestError.self) { try RemoteSigningRequest(json: json) }
        #expect(error?.id == "1")
    }

    @Test func responsesHaveAResultOrAnError() {
        let result = RemoteSigningResponse(id: "1", .result("pong"))
        #expect(result.json == #"{"id":"1","result":"pong"}"#)
        let error = RemoteSigningResponse(id: "1", .error("no\n\"way\""))
        #expect(error.json == #"{"id":"1","error":"no\n\"way\""}"#)
        for response in [result, error] { #expect(RemoteSigningResponse(json: response.json) == response) }
        #expect(RemoteSigningResponse(json: #"{"id":"1","result":"x","error":"y"}"#)?.outcome == .error("y"))
        #expect(RemoteSigningResponse(json: #"{"id":"1","result":"x","error":""}"#)?.outcome == .result("x"))
        #expect(RemoteSigningResponse(json: #"{"id":"1","result":"x","error":null}"#)?.outcome == .result("x"))
        #expect(RemoteSigningResponse(json: #"{"id":"1"}"#) == nil)
    }

    @Test func bunkerURLHoldsRelaysAndSecret() throws {
        let hex = "fa984bd7dbb282f07e16e7ae87b26a2a7b9b90b7246a44771f0cf5ae58018f52"
        let key = try #require(PublicKey(hex: hex))
        let relays = ["wss://relay.example.com", "ws://127.0.0.1:7447/a?b=c&d"]
        let url = BunkerURL(signer: key, relays: relays, secret: "0a f")
        let expected =
            "bunker://\(hex)?relay=wss%3A%2F%2Frelay.example.com&relay=ws%3A%2F%2F127.0.0.1%3A7447%2Fa%3Fb%3Dc%26d"
            + "&secret=0a%20f"
        #expect(url.reveal() == expected)
        #expect(BunkerURL(signer: key, relays: []).reveal() == "bunker://\(hex)")
        #expect(!"\(url)".contains("0a"))
    }
}
