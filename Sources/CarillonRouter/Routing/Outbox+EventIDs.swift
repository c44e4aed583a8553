import Delivery
import Nostr

extension Outbox {
    /// The events whose deliveries were accepted, the oldest first.
    var causes: [EventID] {
        get throws {
            var ids: [EventID] = []
            try forEachCause { bytes in
                if let id = Bytes32(bytes: bytes) { ids.append(EventID(id)) }
            }
            return ids
        }
    }
}
