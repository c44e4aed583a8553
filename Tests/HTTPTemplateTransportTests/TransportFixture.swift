import CarillonABI
import PluginKit
import PluginTestSupport
import TimeTestSupport

@testable import HTTPTemplateTransport

/// A transport on a host that records.
struct TransportFixture: TransportBench {
    let host = FakeHost()
    let clock = ManualClock()
    let transport: HTTPTemplateTransport

    init(configuration: String) throws {
        let clock = clock
        transport = try HTTPTemplateTransport(
            configuration: JSONObject(parsing: configuration),
            host: Host(host.pointer),
            now: clock.now
        )
    }

    var device: SampleRegistration { SampleRegistration(token: "alice") }
}
