package import CarillonABI
import Foundation
package import PluginKit

/// A transport on a host that records, with a clock of the test's.
package protocol TransportBench {
    associatedtype Transport: PluginTransport

    var host: FakeHost { get }
    var transport: Transport { get }
    /// The device that deliveries go to unless a test names another.
    var device: SampleRegistration { get }
}

extension TransportBench {
    /// Delivers and returns the transport's status.
    @discardableResult
    package func deliver(
        _ sample: SampleNotification = .wake("dm"),
        to registration: SampleRegistration? = nil,
        ticket: UInt64 = 1
    ) throws -> carillon_status {
        let box = TransportBox(transport, host: try Host(host.pointer))
        return (registration ?? device).withABI { registration in
            sample.withABI { box.deliver(ticket, registration, $0) }
        }
    }

    /// Returns the transport's reason for rejecting a registration; nil if it accepts it.
    package func refusal(of registration: SampleRegistration) -> String? {
        do throws(PluginError) {
            try registration.withABI { registration throws(PluginError) in
                try transport.validate(Registration(registration))
            }
            return nil
        } catch {
            return error.description
        }
    }
}

extension JSONObject {
    /// An object with these members.
    package init(_ members: [String: Any]) throws {
        let text = try JSONSerialization.data(withJSONObject: members)
        try self.init(parsing: String(decoding: text, as: UTF8.self))
    }
}
