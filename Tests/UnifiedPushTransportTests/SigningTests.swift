import CarillonABI
import Cipher
import Core
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import UnifiedPushTransport

/// VAPID (RFC 8292), for distributors that were given the app's key.
struct SigningTests {
    private let key = P256PrivateKey()
    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture(configuration: Self.block(key))
    }

    private static func block(_ key: P256PrivateKey) -> String {
        let pem = key.pemRepresentation.replacing("\n", with: "\\n")
        return #"{"vapid_key":"\#(pem)","subject":"mailto:ops@example.com"}"#
    }

    private var publicKey: String { Base64URL.encode(key.publicKey.x963Representation) }

    private func request(to registration: SampleRegistration) throws -> RecordedRequest {
        #expect(try fixture.deliver(.wake("dm"), to: registration) == .CARILLON_OK)
        return try #require(fixture.host.requests.last)
    }

    @Test func messageIsSignedIfTheRegistrationNamesTheKey() throws {
        for endpoint in [TransportFixture.endpoint, "http://192.168.1.2:8080/up?token=1"] {
            let request = try request(to: fixture.registration(endpoint, vapid: publicKey))
            let authorization = try ReadAuthorization(#require(request.headers["authorization"]))
            #expect(authorization.isSigned)
            #expect(authorization.publicKey == publicKey)
            #expect(try endpoint.hasPrefix(authorization.audience + "/"))
            #expect(try authorization.expiry == (ManualClock.start + .hours(12)).seconds)
            #expect(authorization.claims.contains(#""sub":"mailto:ops@example.com""#))
            #expect(try fixture.decrypt(request) == #"{"t":"dm"}"#)
        }
        // Plain messages are signed too.
        var plain = fixture.plain
        plain.fields = [("vapid", publicKey)]
        #expect(try request(to: plain).headers["authorization"] != nil)
    }

    @Test func otherMessagesAreNotSigned() throws {
        #expect(try request(to: fixture.plain).headers["authorization"] == nil)
        #expect(try request(to: fixture.encrypted).headers["authorization"] == nil)
        #expect(try request(to: fixture.registration(vapid: "")).headers["authorization"] == nil)
    }

    @Test func foreignKeyIsRefused() throws {
        let another = Base64URL.encode(P256PrivateKey().publicKey.x963Representation)
        #expect(fixture.refusal(of: fixture.registration(vapid: publicKey)) == nil)
        let refusal = try #require(fixture.refusal(of: fixture.registration(vapid: another)))
        #expect(refusal.hasPrefix("vapid: expected the public key of this router"))
        #expect(refusal.contains(publicKey) && !refusal.contains(another))
        let keyless = try TransportFixture()
        #expect(keyless.refusal(of: keyless.registration(vapid: another))?.hasPrefix("vapid: not allowed") == true)
        #expect(keyless.refusal(of: keyless.registration(vapid: nil)) == nil)
    }

    @Test func removedKeyRejectsTheMessage() throws {
        let keyless = try TransportFixture()
        #expect(try keyless.deliver(.wake("dm"), to: keyless.registration(vapid: publicKey)) == .CARILLON_OK)
        #expect(keyless.host.outcomes.map(\.reason) == ["vapid-key-unknown"])
        #expect(keyless.host.outcomes.map(\.kind) == [.CARILLON_REJECTED])
        #expect(keyless.host.log.count == 1)
    }

    @Test(arguments: [
        (#"{"topic":1}"#, "topic: unknown key, expected only vapid_key_file, vapid_key, subject, old_vapid_key_files"),
        (#"{"subject":"mailto:ops@example.com"}"#, "vapid_key_file: expected the path of a private key in PEM"),
        (#"{"vapid_key":"junk","subject":"mailto:ops@example.com"}"#, "vapid_key: expected a PEM text"),
        (#"{"old_vapid_key_files":["/x.pem"]}"#, "vapid_key_file: expected the path of a private key in PEM"),
    ])
    func errorsNameTheKeyAndTheExpectedValue(_ block: String, _ words: String) throws {
        let block = try JSONObject(parsing: block)
        let host = try Host(fixture.host.pointer)
        do throws(PluginError) {
            _ = try UnifiedPushTransport(configuration: block, host: host)
            Issue.record("accepted")
        } catch {
            #expect(error.description.hasPrefix(words))
        }
    }
}
