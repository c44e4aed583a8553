import Cipher
import Testing

@testable import WebPushTransport

struct VAPIDTokenTests {
    @Test func isTheExampleOfRFC8292ButForTheKey() throws {
        let example = try RFC8292Example.read()
        let theirs = try ReadAuthorization(example.authorization)
        #expect(theirs.isSigned)
        #expect(theirs.claims == example.jwt_claims)
        let token = VAPIDToken(key: P256PrivateKey(), subject: "mailto:push@example.com")
        let ours = try ReadAuthorization(token.authorization(for: "https://push.example.net", expiry: 1_453_523_768))
        #expect(ours.signed == theirs.signed)
        #expect(ours.isSigned)
        #expect(ours.publicKey == token.publicKey)
        #expect(ours.publicKey.utf8.count == 87)
    }

    @Test func aChangedTokenIsNotSigned() throws {
        let example = try RFC8292Example.read()
        let changed = example.authorization.replacing("eyJhdWQi", with: "eyJhdXQi")
        #expect(changed != example.authorization)
        #expect(try !ReadAuthorization(changed).isSigned)
    }

    @Test(arguments: [
        "mailto:ops@example.com", "mailto:push+carillon@sub.example.com", "https://example.com",
        "https://example.com/ops?a=1",
    ])
    func aSubjectIsAMailAddressOrAPage(_ subject: String) {
        #expect(VAPIDSubject.isValid(subject))
    }

    @Test(arguments: [
        "", "ops@example.com", "mailto:", "mailto:ops", "mailto:@example.com", "mailto:a@b@c",
        "mailto: ops@example.com",
        "mailto:<ops@example.com>", "http://example.com", "https://", "https://user@example.com", "tel:112",
        "mailto:ops@exämple.com", "mailto:a@b\n",
    ])
    func anythingElseIsNone(_ subject: String) {
        #expect(!VAPIDSubject.isValid(subject))
    }
}
