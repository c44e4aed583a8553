import Cipher
import Core
import Push
import Testing
import TimeTestSupport

@testable import WebIngress

@Suite struct MessageTermsTests {
    private static let now: Timestamp = 1_773_446_400_000

    private func terms(ttl: [String] = [], urgency: [String] = []) -> MessageTerms {
        MessageTerms(PushRequest(ttl: ttl, urgency: urgency), now: Self.now)
    }

    @Test(
        arguments: [
            ([], 0), (["172800"], now + .days(2)), ([" 60 "], now + .minutes(1)), (["0"], now + .minutes(1)),
            (["99999999999999999999999"], now + .days(30)), (["2592001"], now + .days(30)),
            (["-1"], 0), (["soon"], 0), ([""], 0), (["1.5"], 0), (["10", "90"], now + .seconds(90)),
        ] as [([String], Timestamp)]
    )
    func ttlComesFromTheSender(ttl: [String], expiresAt: Timestamp) {
        #expect(terms(ttl: ttl).expiresAt == expiresAt)
    }

    @Test(
        arguments: [
            ([], .normal), (["normal"], .normal), (["high"], .high), (["High "], .high), (["low"], .low),
            (["very-low"], .low),
            (["urgent"], .normal),
        ] as [([String], Urgency)]
    )
    func urgencyAcceptsTheFourValues(lines: [String], urgency: Urgency) {
        #expect(terms(urgency: lines).urgency == urgency)
    }
}

@Suite struct IngressRouteTests {
    private static let token = String(repeating: "0123456789abcdef", count: 4)

    private func read(_ target: String) -> PushResource? {
        guard case .push(let resource) = IngressRoute(method: "POST", target: target) else { return nil }
        return resource
    }

    @Test func aPushNamesDeviceAccountAndEnvironment() throws {
        let resource = try #require(read("/push/\(Self.token)/5E0C6D18-7E0B-4C2F"))
        #expect(resource.deviceToken == Self.token)
        #expect(resource.id == "5E0C6D18-7E0B-4C2F")
        #expect(!resource.isSandbox)
    }

    @Test(arguments: [
        ("?sandbox=true", true), ("?a=b&sandbox=true", true), ("?sandbox=true&a", true), ("?sandbox=false", false),
        ("?sandbox", false), ("?notsandbox=true", false), ("?sandbox=true1", false), ("?", false),
        ("??sandbox=true", false),
    ])
    func sandboxIsSelectedByTheRequest(query: String, isSandbox: Bool) {
        #expect(read("/push/\(Self.token)/1\(query)")?.isSandbox == isSandbox)
    }

    @Test func tokensAreTheSameInEitherCase() {
        #expect(read("/push/\(Self.token.uppercased())/1") == read("/push/\(Self.token)/1"))
    }

    @Test(arguments: [
        ("a%20b", "a b"), ("%C3%A4", "ä"), ("a%2Fb", "a/b"), ("a+b", "a+b"), ("%41", "A"),
        ("user@example.com", "user@example.com"),
    ])
    func theAccountIsDecoded(encoded: String, id: String) {
        #expect(read("/push/\(Self.token)/\(encoded)")?.id == id)
    }

    @Test(arguments: [
        "/push", "/push/", "/push/\(token)", "/push/\(token)/", "/push/\(token)/1/", "/push/\(token)/1/2",
        "//push/\(token)/1",
        "/Push/\(token)/1", "/pushed/\(token)/1", "push/\(token)/1", "", "*", "/index.html", "/push//1",
        // No token at all.
        "/push/xyz/1", "/push/\(token)g/1", "/push/\(token)0/1", "/push/<device>/1", "/push/\(token)%30%30/1",
        "/push/\(String(repeating: "ab", count: 257))/1",
        // No account at all.
        "/push/\(token)/%", "/push/\(token)/%4", "/push/\(token)/%zz", "/push/\(token)/%FF", "/push/\(token)/a%00b",
        "/push/\(token)/%0A", "/push/\(token)/%7f",
        "/push/\(token)/\(String(repeating: "a", count: 1025))",
    ])
    func invalidRouteIsUnknown(target: String) {
        #expect(IngressRoute(method: "POST", target: target) == .unknown)
    }

    @Test func methodsAreDistinguished() {
        #expect(IngressRoute(method: "GET", target: "/") == .status)
        #expect(IngressRoute(method: "HEAD", target: "/?probe") == .status)
        #expect(IngressRoute(method: "POST", target: "/") == .wrongMethod(allow: "GET, HEAD"))
        #expect(IngressRoute(method: "GET", target: "/push/\(Self.token)/1") == .wrongMethod(allow: "POST"))
        #expect(IngressRoute(method: "GET", target: "/favicon.ico") == .unknown)
    }

    @Test func secretsAreHiddenInDescriptions() throws {
        let resource = try #require(read("/push/\(Self.token)/account-of-alice"))
        #expect(!"\(resource) \(String(reflecting: resource))".contains("alice"))
        var dumped = ""
        dump(resource, to: &dumped)
        #expect(!dumped.contains(Self.token))
    }
}

@Suite struct EncryptedMessageTests {
    private static let salt = Base64URL.encode(Samples.salt)
    private static let dh = Base64URL.encode(Samples.senderKey)

    /// `Encryption`, then `Crypto-Key`, each in one or more lines.
    @Test(arguments: [
        (["salt=\(salt)"], ["dh=\(dh);p256ecdsa=xyz"]),
        (["salt=\(salt)"], ["p256ecdsa=xyz;dh=\(dh)"]),
        (["salt=\(salt)"], ["dh=\(dh),p256ecdsa=xyz"]),
        (["salt=\(salt)"], ["p256ecdsa=xyz, dh=\(dh)"]),
        (["salt=\(salt)"], ["p256ecdsa=xyz", "dh=\(dh)"]),
        (["salt=\"\(salt)\""], ["dh=\"\(dh)\"; p256ecdsa=\"xyz\""]),
        (["salt=\(Base64URL.encodePadded(Samples.salt))"], ["dh=\(Base64URL.encodePadded(Samples.senderKey))"]),
        (["salt=\"\(Base64URL.encodePadded(Samples.salt))\";rs=4096"], ["dh=\(Base64.encode(Samples.senderKey))"]),
        (["rs=4096;salt=\(salt)"], ["keyid=p256dh;dh=\(dh)"]),
        (["keyid=b;salt=\(salt)"], ["keyid=b;dh=\(dh), keyid=a;dh=xyz"]),
        (["SALT=\(salt)"], ["DH=\(dh)"]),
    ])
    func saltAndKeyAreFoundInEverySpelling(encryption: [String], cryptoKey: [String]) throws {
        var request = Samples.legacy()
        request.encryption = encryption
        request.cryptoKey = cryptoKey
        let message = try #require(EncryptedMessage(request))
        #expect(message.coding == .aesgcm)
        #expect(message.salt == Samples.salt && message.senderKey == Samples.senderKey)
        #expect(message.body == request.body)
    }

    @Test(
        arguments: [
            ([], .aesgcm), ([""], .aesgcm), (["AESGCM"], .aesgcm), (["identity, aesgcm"], .aesgcm),
            (["identity", "aesgcm"], .aesgcm),
            (["aesgcm128"], nil), (["gzip"], nil), (["aesgcm, gzip"], nil), (["aesgcm", "aes128gcm"], nil),
        ] as [([String], EncryptedMessage.Coding?)]
    )
    func namedContentEncodingIsUsed(contentEncoding: [String], coding: EncryptedMessage.Coding?) {
        var request = Samples.legacy()
        request.contentEncoding = contentEncoding
        #expect(EncryptedMessage(request)?.coding == coding)
    }

    @Test func theStandardsExampleIsRead() throws {
        let message = try #require(EncryptedMessage(Samples.standard))
        #expect(message.coding == .aes128gcm)
        #expect(Base64URL.encode(message.salt) == Samples.standardSalt)
        #expect(Base64URL.encode(message.senderKey) == Samples.standardKey)
        #expect(message.body == Samples.standardBody)
    }

    @Test func undecryptableRequestHasNoMessage() {
        var requests: [PushRequest] = []
        func without(_ change: (inout PushRequest) -> Void) {
            var request = Samples.legacy()
            change(&request)
            requests.append(request)
        }
        without { $0.encryption = [] }
        without { $0.cryptoKey = [] }
        without { $0.encryption = ["rs=4096"] }
        without { $0.encryption = ["salt=\(Base64URL.encode(Array(0..<15)))"] }
        without { $0.encryption = ["salt=%%%"] }
        without { $0.cryptoKey = ["p256ecdsa=\(Self.dh)"] }
        without { $0.cryptoKey = ["dh=\(Base64URL.encode(Samples.senderKey.dropLast()))"] }
        without { $0.cryptoKey = ["dh=\(Base64URL.encode([0x03] + Samples.senderKey.dropFirst()))"] }
        without { $0.body = [] }
        without { $0.body = Array(0..<17) }
        without { $0.body = nil }
        for count in [0, 20, 86, 102] {
            requests.append(
                PushRequest(contentEncoding: ["aes128gcm"], body: Array(Samples.standardBody.prefix(count)))
            )
        }
        // An invalid key identifier, as in RFC 8188's own examples.
        requests.append(
            PushRequest(contentEncoding: ["aes128gcm"], body: Samples.salt + [0, 0, 16, 0, 2, 97, 49] + Array(0..<40))
        )
        for request in requests { #expect(EncryptedMessage(request) == nil) }
    }
}

@Suite struct FieldParametersTests {
    @Test(
        arguments: [
            (["salt=abc"], [["salt": "abc"]]),
            (["salt=abc;rs=4096"], [["salt": "abc", "rs": "4096"]]),
            (["rs=4096; salt=abc"], [["salt": "abc", "rs": "4096"]]),
            (["  Salt = \"abc\" ; RS=4096 "], [["salt": "abc", "rs": "4096"]]),
            (["salt=abc=="], [["salt": "abc=="]]),
            (["salt=\"abc==\",salt=def"], [["salt": "abc=="], ["salt": "def"]]),
            (["dh=a;p256ecdsa=b"], [["dh": "a", "p256ecdsa": "b"]]),
            (["p256ecdsa=b,dh=a"], [["p256ecdsa": "b"], ["dh": "a"]]),
            (["dh=a", "p256ecdsa=b"], [["dh": "a"], ["p256ecdsa": "b"]]),
            (["keyid=\"p256;dh\";dh=a"], [["keyid": "p256;dh", "dh": "a"]]),
            (["keyid=\"a\\\"b\";dh=c"], [["keyid": "a\"b", "dh": "c"]]),
            (["keyid=\"never closed;dh=a"], [["keyid": "never closed;dh=a"]]),
            (["dh=a;dh=b"], [["dh": "b"]]),
            (["", ";;,,", "=", "=a", "flag", " "], []),
            (["dh="], [["dh": ""]]),
        ] as [([String], [[String: String]])]
    )
    func parametersAreReadInEverySpelling(lines: [String], sets: [[String: String]]) {
        #expect(FieldParameters(lines).sets == sets)
    }

    @Test func parameterSetIsChosenByKeyID() {
        let keys = FieldParameters(["keyid=a;dh=one, keyid=b;dh=two, p256ecdsa=three"])
        #expect(keys.set(with: "dh", of: ["keyid": "a"])?["dh"] == "one")
        #expect(keys.set(with: "dh", of: ["keyid": "b"])?["dh"] == "two")
        #expect(keys.set(with: "dh", of: ["keyid": "c"])?["dh"] == "two")
        #expect(keys.set(with: "dh")?["dh"] == "two")
        #expect(keys.set(with: "salt") == nil)
    }
}
