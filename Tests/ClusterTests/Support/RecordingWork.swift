import Cluster
import Delivery
import DeliveryTestSupport
import Notifications
import Synchronization
import Units

/// A small router on a member: one delivery for each event, which counts as delivered at once.
final class RecordingWork: PartitionWork {
    private struct State {
        weak var member: ClusterMember?
        var sent: [DeliveryID] = []
        var closed: [Int: PartitionLogError] = [:]
        var pending: Set<[UInt8]> = []
        var holdsBack = false
    }

    private let state = Mutex(State())

    var member: ClusterMember? {
        get { state.withLock { $0.member } }
        set { state.withLock { $0.member = newValue } }
    }

    /// What was sent, in order.
    var sent: [DeliveryID] { state.withLock(\.sent) }

    var closed: [Int: PartitionLogError] { state.withLock(\.closed) }

    /// Nothing is sent: deliveries wait in the log.
    func holdBack() { state.withLock { $0.holdsBack = true } }

    func opened(_ partition: Int, _ state: PartitionState, isHandedOver: Bool) {
        for (number, entry) in state.waiting.sorted(by: { $0.key < $1.key }) {
            send(entry.delivery, number, partition)
        }
    }

    func take(_ items: [[UInt8]], in partition: Int, taken: @escaping @Sendable (Bool) -> Void) {
        guard let member, let known = member.state(of: partition) else { return taken(false) }
        var transaction = LogTransaction()
        for item in items {
            let cause = item + [UInt8](repeating: 0, count: 32 - item.count)
            guard !known.isKnown(cause), state.withLock({ $0.pending.insert(cause).inserted }) else { continue }
            transaction.causes.append(cause)
            var delivery = Delivery.sample(0)
            delivery.id = "\(String(decoding: item, as: UTF8.self))"
            transaction.deliveries.append(delivery)
        }
        taken(transaction.isEmpty || (try? member.commit(transaction, to: partition)) != nil)
    }

    func committed(_ partition: Int, _ commits: [PartitionLog.Commit]) {
        for commit in commits {
            for (offset, delivery) in commit.deliveries.enumerated() {
                send(delivery, commit.firstDelivery + Int64(offset), partition)
            }
        }
    }

    func drain(_ partition: Int) { member?.drained(partition) }

    func closed(_ partition: Int, _ error: PartitionLogError) { state.withLock { $0.closed[partition] = error } }

    private func send(_ delivery: Delivery, _ number: Int64, _ partition: Int) {
        guard let member, member.maySend(for: partition), !state.withLock(\.holdsBack) else { return }
        state.withLock { $0.sent.append(delivery.id) }
        var outcome = LogTransaction()
        outcome.changes.removals = [OutboxKey(number: number)]
        _ = try? member.commit(outcome, to: partition)
    }
}
