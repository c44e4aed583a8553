import Cipher
import PluginTestSupport
import Testing

@testable import WebPushMessage

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
        // py_vapid reads no blank.
        #expect(try token.authorization(for: "https://push.example.net", expiry: 1).contains(",k="))
    }

    @Test func aChangedTokenIsNotSigned() throws {
        let example = try RFC8292Example.read()
        let changed = example.authorization.replacing("eyJhdWQi", with: "eyJhdXQi")
        #expect(changed != example.authorization)
        #expect(try !ReadAuthorization(changed).isSigned)
    }
}
