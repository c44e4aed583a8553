import CarillonABI
import Cipher
import PluginKit
import PluginTestSupport
import WebPushEncryption

@testable import UnifiedPushTransport

/// A transport on a host that records, and a device whose keys are known.
struct TransportFixture {
    static let endpoint = "https://ntfy.example.com/upAbCdEfGhIjKl?up=1"

    let host = FakeHost()
    let clock = ManualClock()
    let deviceKey = P256PrivateKey()
    let secret = [UInt8](repeating: 7, count: 16)
    let transport: UnifiedPushTransport

    init() throws {
        let clock = clock
        transport = try UnifiedPushTransport(
            configuration: JSONObject(parsing: "{}"),
            host: Host(host.pointer),
            now: { clock.now }
        )
    }

    /// A registration without keys.
    var plain: SampleRegistration { SampleRegistration(token: TransportFixture.endpoint) }

    /// A registration with the device's keys.
    var encrypted: SampleRegistration {
        SampleRegistration(
            token: TransportFixture.endpoint,
            fields: [
                ("p256dh", Base64URL.encode(deviceKey.publicKey.x963Representation)),
                ("auth", Base64URL.encode(secret)),
            ]
        )
    }

    /// Delivers and returns what the transport said.
    func deliver(
        _ sample: SampleNotification,
        to registration: SampleRegistration,
        ticket: UInt64 = 1
    ) throws -> carillon_status {
        let box = TransportBox(transport, host: try Host(host.pointer))
        return registration.withABI { registration in
            sample.withABI { box.deliver(ticket, registration, $0) }
        }
    }

    /// What the device reads in the body of a request.
    func decrypt(_ request: RecordedRequest) throws -> String {
        let plaintext = try WebPushEncryption.decrypt(request.body, privateKey: deviceKey, authenticationSecret: secret)
        return String(decoding: plaintext, as: UTF8.self)
    }
}
