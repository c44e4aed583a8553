import Delivery
import Notifications
import PluginHost

/// A plugin's instance as the courier knows it, with every attempt in the journal.
struct JournalledTransport: Transport {
    let instance: TransportInstance
    let journal: JournalKeeper

    func deliver(_ delivery: Delivery, to address: DeviceAddress, completion: @escaping @Sendable (Outcome) -> Void) {
        let number = journal.attemptBegan(delivery)
        instance.deliver(delivery.notification, id: delivery.id, to: address) { [journal] outcome in
            journal.attemptEnded(number, to: delivery.device, outcome)
            completion(outcome)
        }
    }
}
