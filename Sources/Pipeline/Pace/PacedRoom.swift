import Delivery
import Notifications
import Registry

/// The outbox's room as the pacer asks for it.
struct PacedRoom {
    /// Nil: there is always some.
    let room: (any DeliveryRoom)?

    /// Takes room for one more delivery to a device; false when what it is for has to be held.
    func takesRoom(for device: DeviceID, _ route: Route) -> Bool {
        room?.take(for: device, of: QueueName(platform: route.platform, app: route.app)) ?? true
    }
}
