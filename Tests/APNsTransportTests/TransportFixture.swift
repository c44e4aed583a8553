import CarillonABI
import Cipher
import Core
import Foundation
import PluginKit
import PluginTestSupport
import TimeTestSupport

@testable import APNsTransport

/// A transport on a host that records, with a manual clock.
struct TransportFixture: TransportBench {
    static let deviceToken = String(repeating: "0a1B", count: 16)

    let host: FakeHost
    let clock = ManualClock()
    let key = P256PrivateKey()
    let transport: APNsTransport

    /// `more` contains additional keys of the block; it may have nil values. With a `certificate`, a file of
    /// ``CertificateFiles``, the block has no key for provider tokens.
    init(
        environment: String = "production",
        sandbox: String? = nil,
        certificate: String? = nil,
        _ more: [String: any Sendable] = [:],
        host: FakeHost = FakeHost()
    ) throws {
        var block: [String: Any] = ["topic": "com.example.app"]
        block[environment.hasPrefix("https://") ? "base_url" : "environment"] = environment
        block["sandbox"] = sandbox
        if let certificate {
            block["certificate_file"] = CertificateFiles.path(certificate)
        } else {
            block["team_id"] = "TEAMID1234"
            block["key_id"] = "ABCDEFGHIJ"
            block["key"] = key.pemRepresentation
        }
        block.merge(more) { $1 }
        let clock = clock
        self.host = host
        transport = try APNsTransport(configuration: JSONObject(block), host: Host(host.pointer), now: clock.now)
    }

    /// Lets Apple accept the first push.
    func provePlace() throws {
        _ = try deliver(.wake("dm"))
        host.answer(0, status: 200)
    }

    var device: SampleRegistration { Self.device() }

    static func device(_ fields: [(String, String)] = [], registeredAt: UInt64 = 0) -> SampleRegistration {
        SampleRegistration(token: deviceToken, fields: fields.map { ($0, $1) }, registeredAt: registeredAt)
    }

    /// Answers the latest request with an error of Apple's.
    func refuse(_ status: UInt32, _ reason: String, timestamp: Timestamp? = nil) {
        let timestamp = timestamp.map { #","timestamp":\#($0)"# } ?? ""
        host.answer(host.requests.count - 1, status: status, body: #"{"reason":"\#(reason)"\#(timestamp)}"#)
    }

    /// Answers the latest request with success.
    func accept() {
        host.answer(host.requests.count - 1, status: 200)
    }
}
