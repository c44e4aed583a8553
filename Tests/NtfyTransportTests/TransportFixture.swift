import CarillonABI
import PluginKit
import PluginTestSupport
import TimeTestSupport

@testable import NtfyTransport

/// A transport on a host that records.
struct TransportFixture: TransportBench {
    static let token = "https://ntfy.example.com/alerts"

    let host = FakeHost()
    let clock = ManualClock()
    let transport: NtfyTransport

    init(configuration: String = "{}") throws {
        let clock = clock
        transport = try NtfyTransport(
            configuration: JSONObject(parsing: configuration),
            host: Host(host.pointer),
            now: clock.now
        )
    }

    var device: SampleRegistration { SampleRegistration(token: Self.token) }
}
