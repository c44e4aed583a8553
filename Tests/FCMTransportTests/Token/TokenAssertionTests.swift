import Cipher
import Core
import Foundation
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import FCMTransport

struct TokenAssertionTests {
    @Test func isAJWTThatTheAccountSigned() throws {
        let account = try FCMConfiguration(JSONObject(["service_account_json": TransportFixture.account])).account
        let now = ManualClock.start + .milliseconds(999)
        let form = String(decoding: try TokenAssertion.form(account, now: now), as: UTF8.self)
        let prefix = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        try #require(form.hasPrefix(prefix))
        let parts = form.dropFirst(prefix.count).split(separator: ".", omittingEmptySubsequences: false).map(
            String.init
        )
        try #require(parts.count == 3)
        let texts = try parts.prefix(2).map { String(decoding: try #require(Base64URL.decode($0)), as: UTF8.self) }
        #expect(try isSameJSON(texts[0], #"{"alg":"RS256","typ":"JWT","kid":"0123456789abcdef"}"#))
        #expect(
            try isSameJSON(
                texts[1],
                """
                {"iss":"push@my-project-1234.iam.gserviceaccount.com",\
                "scope":"https://www.googleapis.com/auth/firebase.messaging",\
                "aud":"https://oauth2.example.com/token","iat":1770000000,"exp":1770003600}
                """
            )
        )
        let signature = try #require(Base64URL.decode(parts[2]))
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        #expect(TransportFixture.key.publicKey.isValidRS256(signature, for: signed))
    }
}
