import CarillonABI
import Cipher
import Foundation
import PluginKit
import PluginTestSupport
import TimeTestSupport

@testable import FCMTransport

/// A transport on a host that records, with a manual clock.
struct TransportFixture: TransportBench {
    static let deviceToken = "cQv0Iq_LT-y:APA91b" + String(repeating: "Ab1-_", count: 24)
    /// One key for all tests, because making an RSA key takes a while.
    static let key = RSAPrivateKey()
    static let tokenURL = "https://oauth2.example.com/token"
    static let sendURL = "https://fcm.googleapis.com/v1/projects/my-project-1234/messages:send"

    let host = FakeHost()
    let clock = ManualClock()
    let transport: FCMTransport

    /// `more` goes into the configuration block.
    init(_ more: [String: Any] = [:]) throws {
        let clock = clock
        let account: [String: Any] = ["service_account_json": TransportFixture.account]
        transport = try FCMTransport(
            configuration: JSONObject(account.merging(more) { $1 }),
            host: Host(host.pointer),
            now: clock.now
        )
    }

    /// A file in Google's format.
    static var account: [String: Any] {
        [
            "type": "service_account", "project_id": "my-project-1234", "private_key_id": "0123456789abcdef",
            "private_key": key.pemRepresentation, "client_email": "push@my-project-1234.iam.gserviceaccount.com",
            "client_id": "1234567890", "auth_uri": "https://accounts.google.com/o/oauth2/auth", "token_uri": tokenURL,
            "auth_provider_x509_cert_url": "https://www.googleapis.com/oauth2/v1/certs",
            "universe_domain": "googleapis.com",
        ]
    }

    var device: SampleRegistration { SampleRegistration(token: Self.deviceToken) }

    /// Answers the request at `index` with an access token.
    func grant(_ token: String = "ya29.token", expiresIn: Int = 3599, at index: Int = 0) {
        host.answer(
            index,
            status: 200,
            body: #"{"access_token":"\#(token)","expires_in":\#(expiresIn),"token_type":"Bearer"}"#
        )
    }
}
