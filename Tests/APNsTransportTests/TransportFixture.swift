import CarillonABI
import Cipher
import PluginKit
import PluginTestSupport
import Synchronization

@testable import APNsTransport

/// A transport on a host that records, with a clock of the test's.
struct TransportFixture {
    static let deviceToken = String(repeating: "0a1B", count: 16)

    let host = FakeHost()
    let clock = ManualClock()
    let key = P256PrivateKey()
    let transport: APNsTransport

    init(environment: String = "production", sandbox: String? = nil) throws {
        let pem = key.pemRepresentation.split(separator: "\n").joined(separator: #"\n"#)
        let block = try JSONObject(
            parsing: """
                {"topic":"com.example.app","team_id":"TEAMID1234","key_id":"ABCDEFGHIJ","key":"\(pem)",\
                "environment":"\(environment)","sandbox":\(sandbox.map { "\"\($0)\"" } ?? "null")}
                """
        )
        let clock = clock
        transport = try APNsTransport(configuration: block, host: Host(host.pointer), now: { clock.now })
    }

    /// Has Apple take a push, the first one.
    func provePlace() throws {
        _ = try deliver(.wake("dm"))
        host.answer(0, status: 200)
    }

    /// Delivers and returns what the transport said.
    func deliver(
        _ sample: SampleNotification,
        to registration: SampleRegistration = SampleRegistration(token: deviceToken),
        ticket: UInt64 = 1
    ) throws -> carillon_status {
        let box = TransportBox(transport, host: try Host(host.pointer))
        return registration.withABI { registration in
            sample.withABI { box.deliver(ticket, registration, $0) }
        }
    }
}
