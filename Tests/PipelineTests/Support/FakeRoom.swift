import Delivery
import Notifications
import Synchronization

/// Room for so many deliveries of the queues that are said to be behind, and for any number of others.
final class FakeRoom: DeliveryRoom {
    private struct State {
        var room: [QueueName: Int] = [:]
        var asked = 0
    }

    private let state = Mutex(State())

    /// Nil: as many as there are.
    func set(_ room: Int?, of queue: QueueName) { state.withLock { $0.room[queue] = room } }

    /// How often anybody asked.
    var asked: Int { state.withLock { $0.asked } }

    func take(for device: DeviceID, of queue: QueueName) -> Bool {
        state.withLock { state in
            state.asked += 1
            guard let room = state.room[queue] else { return true }
            guard room > 0 else { return false }
            state.room[queue] = room - 1
            return true
        }
    }

    func settle() {}
}
