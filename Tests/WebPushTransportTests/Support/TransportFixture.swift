import CarillonABI
import Cipher
import PluginKit
import PluginTestSupport
import WebPushEncryption

@testable import WebPushTransport

/// A transport on a host that records, and a browser whose keys are known.
struct TransportFixture {
    static let endpoint = "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABsecret"
    static let subject = "mailto:ops@example.com"

    let host = FakeHost()
    let clock = ManualClock()
    let operatorKey = P256PrivateKey()
    let browserKey = P256PrivateKey()
    let secret = [UInt8](repeating: 7, count: 16)
    let transport: WebPushTransport

    /// `more` goes into the configuration block behind a comma.
    init(_ more: String = "") throws {
        let clock = clock
        let pem = operatorKey.pemRepresentation.replacing("\n", with: "\\n")
        transport = try WebPushTransport(
            configuration: JSONObject(
                parsing: #"{"vapid_key":"\#(pem)","subject":"\#(Self.subject)"\#(more.isEmpty ? "" : ",")\#(more)}"#
            ),
            host: Host(host.pointer),
            now: { clock.now }
        )
    }

    /// A subscription with the browser's keys.
    func subscription(_ endpoint: String = endpoint) -> SampleRegistration {
        SampleRegistration(
            token: endpoint,
            fields: [
                ("p256dh", Base64URL.encode(browserKey.publicKey.x963Representation)),
                ("auth", Base64URL.encode(secret)),
            ]
        )
    }

    /// Delivers and returns what the transport said.
    func deliver(
        _ sample: SampleNotification,
        to registration: SampleRegistration? = nil,
        ticket: UInt64 = 1
    ) throws -> carillon_status {
        let box = TransportBox(transport, host: try Host(host.pointer))
        return (registration ?? subscription()).withABI { registration in
            sample.withABI { box.deliver(ticket, registration, $0) }
        }
    }

    /// What the browser reads in the body of a request.
    func decrypt(_ request: RecordedRequest) throws -> String {
        let plaintext = try WebPushEncryption.decrypt(
            request.body,
            privateKey: browserKey,
            authenticationSecret: secret
        )
        return String(decoding: plaintext, as: UTF8.self)
    }
}
