import CarillonABI
import PluginKit
import PluginTestSupport
import TimeTestSupport

@testable import HTTPTemplateTransport

/// A transport on a host that records.
struct TransportFixture {
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

    /// Delivers and returns what the transport said.
    func deliver(
        _ sample: SampleNotification,
        to registration: SampleRegistration = SampleRegistration(token: "alice")
    ) throws -> carillon_status {
        let box = TransportBox(transport, host: try Host(host.pointer))
        return registration.withABI { registration in
            sample.withABI { box.deliver(1, registration, $0) }
        }
    }

    /// Nil when the transport takes the registration, else what it says against it.
    func mistake(in registration: SampleRegistration) -> String? {
        do {
            try registration.withABI { try transport.validate(Registration($0)) }
            return nil
        } catch {
            return "\(error)"
        }
    }
}
