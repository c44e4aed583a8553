import CarillonABI
import Cipher
import PluginKit
import PluginTestSupport
import TimeTestSupport

@testable import UnifiedPushTransport

/// A transport on a recording host, and a device with known keys.
struct TransportFixture: TransportBench {
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

    var device: SampleRegistration { plain }

    /// Decrypts the body of a request, as the device does.
    func decrypt(_ request: RecordedRequest) throws -> String {
        let plaintext = try WebPushEncryption.decrypt(request.body, privateKey: deviceKey, authenticationSecret: secret)
        return String(decoding: plaintext, as: UTF8.self)
    }
}
