import CarillonABI
import PluginKit
import PluginTestSupport
import TimeTestSupport

@testable import WebhookTransport

/// A transport on a host that records.
struct TransportFixture: TransportBench {
    static let token = "https://hooks.example.com/carillon?user=1"

    let host = FakeHost()
    let clock = ManualClock()
    let transport: WebhookTransport

    init(configuration: String = "{}") throws {
        let clock = clock
        transport = try WebhookTransport(
            configuration: JSONObject(parsing: configuration),
            host: Host(host.pointer),
            now: clock.now
        )
    }

    var device: SampleRegistration { SampleRegistration(token: Self.token) }

    /// Delivers several at the same time, with the tickets 1, 2, …, and returns the transport's status.
    func deliverMany(_ parcels: [(sample: SampleNotification, token: String)]) throws -> carillon_status {
        let box = TransportBox(transport, host: try Host(host.pointer))
        var deliveries: [carillon_delivery] = []
        func borrow(_ rest: ArraySlice<(sample: SampleNotification, token: String)>) -> carillon_status {
            guard let first = rest.first else {
                return deliveries.withUnsafeBufferPointer { deliveries in
                    let pointers = deliveries.indices.map { index in deliveries.baseAddress.map { $0 + index } }
                    return pointers.withUnsafeBufferPointer { pointers in
                        guard let start = pointers.baseAddress else { return .CARILLON_INVALID }
                        return box.deliverMany(start, count: pointers.count)
                    }
                }
            }
            return SampleRegistration(token: first.token).withABI { registration in
                first.sample.withABI { notification in
                    deliveries.append(
                        carillon_delivery(
                            struct_size: UInt32(MemoryLayout<carillon_delivery>.size),
                            reserved: 0,
                            ticket: UInt64(deliveries.count + 1),
                            registration: registration,
                            notification: notification
                        )
                    )
                    return borrow(rest.dropFirst())
                }
            }
        }
        return borrow(parcels[...])
    }
}
