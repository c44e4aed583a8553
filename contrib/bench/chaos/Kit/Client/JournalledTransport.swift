import Delivery
import Notifications
import PluginHost

/// A plugin's instance as the courier knows it, with every attempt in the journal.
///
/// How long FCM's plugin waits before it asks for another access token it measures by the real clock, and the courier's goes
/// faster: what it says of that is made longer, or the courier would come back a hundred times in vain.
struct JournalledTransport: Transport {
    let instance: TransportInstance
    let journal: JournalKeeper
    /// How many times faster than ours the courier's clock goes.
    let haste: Int64

    func deliver(_ delivery: Delivery, to address: DeviceAddress, completion: @escaping @Sendable (Outcome) -> Void) {
        let number = journal.attemptBegan(delivery)
        instance.deliver(delivery.notification, id: delivery.id, to: address) { [journal] outcome in
            journal.attemptEnded(number, to: delivery.device, outcome)
            completion(outcome.isOfTokenEndpoint ? outcome.waiting(times: haste) : outcome)
        }
    }
}

extension Outcome {
    /// No access token is to be had: a wait without an answer to the message itself.
    fileprivate var isOfTokenEndpoint: Bool { reason.hasPrefix("token-") || status == 0 && retryAfter > 0 }

    fileprivate func waiting(times factor: Int64) -> Outcome {
        var longer = self
        longer.retryAfter = UInt32(clamping: Int64(retryAfter) * factor)
        return longer
    }
}
