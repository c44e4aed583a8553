import Delivery
import Notifications

/// Delivers everything on the spot.
struct InstantTransport: Transport {
    func deliver(_ delivery: Delivery, to address: DeviceAddress, completion: @escaping @Sendable (Outcome) -> Void) {
        completion(Outcome(.delivered, status: 200, reason: "ok"))
    }
}
