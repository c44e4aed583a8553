import Cipher
import Core
import Foundation
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import WebPushMessage

struct VAPIDTokenTests {
    @Test func tokenMatchesTheExampleOfRFC8292ExceptTheKey() throws {
        let example = try RFC8292Example.read()
        let theirs = try ReadAuthorization(example.authorization)
        #expect(theirs.isSigned)
        #expect(theirs.claims == example.jwt_claims)
        let token = VAPIDToken(key: P256PrivateKey(), subject: "mailto:push@example.com")
        let ours = try ReadAuthorization(
            token.authorization(for: "https://push.example.net", expiry: Timestamp(seconds: 1_453_523_768))
        )
        #expect(ours.signed == theirs.signed)
        #expect(ours.isSigned)
        #expect(ours.publicKey == token.publicKey)
        #expect(ours.publicKey.utf8.count == 87)
        // py_vapid reads no blank.
        #expect(try token.authorization(for: "https://push.example.net", expiry: Timestamp(seconds: 1)).contains(",k="))
    }

    @Test func aChangedTokenIsNotSigned() throws {
        let example = try RFC8292Example.read()
        let changed = example.authorization.replacing("eyJhdWQi", with: "eyJhdXQi")
        #expect(changed != example.authorization)
        #expect(try !ReadAuthorization(changed).isSigned)
    }
}

/// `Vectors/rfc8292-example.json`.
struct RFC8292Example: Decodable {
    let request_url: String
    let authorization: String
    let jwt_claims: String

    static func read() throws -> RFC8292Example {
        let url = try #require(Bundle.module.resourceURL).appendingPathComponent("Vectors/rfc8292-example.json")
        return try JSONDecoder().decode(RFC8292Example.self, from: Data(contentsOf: url))
    }
}

struct VAPIDSubjectTests {
    private func refusal(_ text: String) -> String? {
        do throws(PluginError) {
            _ = try VAPIDSubject(text, under: "subject")
            return nil
        } catch {
            return error.description
        }
    }

    @Test(arguments: [
        "mailto:ops@example.com", "mailto:push+carillon@sub.example.org", "https://carillon.example",
        "https://notify.gozzip.app/ops?a=1", "https://notify.gozzip.app:8443", "mailto:ops@gozzip.app?subject=push",
        "https://[2001:db8::1]/", "https://192.0.2.1/",
    ])
    func subjectIsAMailAddressOrAWebPage(_ subject: String) throws {
        #expect(try VAPIDSubject(subject, under: "subject").text == subject)
    }

    @Test(arguments: [
        "", "ops@example.com", "mailto:", "mailto:ops", "mailto:@example.com", "mailto:a@b.c@d.e",
        "mailto: ops@example.com", "mailto:<ops@example.com>", "http://example.com", "https://",
        "https://user@example.com", "tel:112", "mailto:ops@exämple.com", "mailto:a@b.c\n",
    ])
    func otherSubjectIsRefused(_ subject: String) throws {
        let mistake = try #require(refusal(subject))
        #expect(mistake.hasPrefix("subject: expected the operator's contact for push services"))
        #expect(!mistake.contains("BadJwtToken"))
    }

    /// web-push-libs/web-push, issues 787 and 947: only Apple rejects tokens with such a subject.
    @Test(arguments: [
        "mailto:ops@localhost", "https://localhost", "https://localhost:8443/x", "mailto:ops@LOCALHOST",
        "mailto:ops@mail.localhost", "mailto:webpush@term.local", "https://carillon.invalid", "mailto:a@b.test",
        "mailto:root@server", "mailto:root@host.localdomain",
    ])
    func unreachableSubjectIsRefused(_ subject: String) throws {
        let mistake = try #require(refusal(subject))
        #expect(mistake.hasPrefix("subject: expected the operator's contact for push services"))
        #expect(mistake.contains("Apple responds to tokens with such a subject with 403 (BadJwtToken)"))
    }

    @Test(arguments: [
        ("mailto:ops@example.com", true), ("https://www.example.net/x", true), ("mailto:ops@push.example", true),
        ("mailto:ops@example.de", false), ("mailto:ops@myexample.com", false), ("https://gozzip.app", false),
    ])
    func subjectCopiedFromAnExampleIsWarnedAbout(_ subject: String, _ isDoubted: Bool) throws {
        let doubt = try VAPIDSubject(subject, under: "subject").doubt
        #expect((doubt?.contains("an example domain") == true) == isDoubted)
    }
}
