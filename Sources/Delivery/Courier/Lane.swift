import DequeModule
import Notifications

/// The deliveries of one device that are in memory, in order: one is under way at a time.
struct Lane: Sendable {
    enum State: Sendable {
        /// Belongs to no device.
        case free
        /// Waits for its turn in its queue.
        case ready
        /// The first delivery is being attempted.
        case inFlight
        /// Waits for a time to come.
        case parked
        /// Waits for another attempt towards the same host to end.
        case held
    }

    var device: DeviceID
    var state: State
    var waiting: Deque<StoredDelivery> = []
    /// The host the attempt under way goes to, where hosts are counted.
    var host: String?
    /// The host that called this lane, until it is decided what comes of it.
    var caller: String?
}
