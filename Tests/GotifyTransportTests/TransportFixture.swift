import CarillonABI
import PluginKit
import PluginTestSupport
import TimeTestSupport

@testable import GotifyTransport

/// A transport on a host that records.
struct TransportFixture: TransportBench {
    static let token = "https://gotify.example.com/message?token=AbCdEf.123-_"

    let host = FakeHost()
    let clock = ManualClock()
    let transport: GotifyTransport

    init(configuration: String = "{}") throws {
        let clock = clock
        transport = try GotifyTransport(
            configuration: JSONObject(parsing: configuration),
            host: Host(host.pointer),
            now: clock.now
        )
    }

    var device: SampleRegistration { SampleRegistration(token: Self.token) }
}
