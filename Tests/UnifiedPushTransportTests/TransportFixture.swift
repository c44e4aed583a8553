import CarillonABI
import Cipher
import PluginKit
import PluginTestSupport
import TimeTestSupport
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

    init(configuration: String = "{}") throws {
        let clock = clock
        transport = try UnifiedPushTransport(
            configuration: JSONObject(parsing: configuration),
            host: Host(host.pointer),
            now: clock.now
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

    /// A registration with the device's keys whose app gave `vapid` to its distributor.
    func registration(_ endpoint: String = TransportFixture.endpoint, vapid: String?) -> SampleRegistration {
        var registration = encrypted
        registration.token = [UInt8](endpoint.utf8)
        if let vapid { registration.fields.append(("vapid", vapid)) }
        return registration
    }

    /// Nil when the transport takes the registration, else what it says against it.
    func refusal(of registration: SampleRegistration) -> String? {
        registration.withABI { registration in
            do throws(PluginError) {
                try transport.validate(Registration(registration))
                return nil
            } catch {
                return error.description
            }
        }
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
