import Delivery
import Notifications
import PluginHost

/// A plugin's instance as the courier knows it.
struct PluginCarriage: Transport {
    let instance: TransportInstance

    func deliver(_ delivery: Delivery, to address: DeviceAddress, completion: @escaping @Sendable (Outcome) -> Void) {
        instance.deliver(delivery.notification, id: delivery.id, to: address, completion: completion)
    }
}
