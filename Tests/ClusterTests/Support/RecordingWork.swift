import Core
import Delivery
import DeliveryTestSupport
import Push
import Synchronization

@testable import Cluster

/// A small router on a member: one delivery for each event, which counts as delivered immediately.
final class RecordingWork: PartitionWork {
    private struct State {
        weak var member: ClusterMember?
        var sent: [DeliveryID] = []
        var closed: [Int: PartitionLogError] = [:]
        var pending: Set<[UInt8]> = []
    }

    private let state = Mutex(State())

    var member: ClusterMember? {
        get { state.withLock { $0.member } }
        set { state.withLock { $0.member = newValue } }
    }

    /// The sent deliveries, in order.
    var sent: [DeliveryID] { state.withLock(\.sent) }

    var closed: [Int: PartitionLogError] { state.withLock(\.closed) }

    func opened(_ partition: Int, _ state: PartitionState, isHandedOver: Bool) {
        for (number, entry) in state.waiting.sorted(by: { $0.key < $1.key }) {
            send(entry.delivery, number, partition)
        }
    }

    func take(_ items: [[UInt8]], in partition: Int, taken: @escaping @Sendable (HandOverNotes?) -> Void) {
        guard let member, let known = member.state(of: partition) else { return taken(nil) }
        var transaction = LogTransaction()
        for item in items {
            let cause = item + [UInt8](repeating: 0, count: 32 - item.count)
            guard !known.isKnown(cause), state.withLock({ $0.pending.insert(cause).inserted }) else { continue }
            transaction.causes.append(cause)
            var delivery = Delivery.sample(0)
            delivery.id = "\(String(decoding: item, as: UTF8.self))"
            transaction.deliveries.append(delivery)
        }
        let isKept = transaction.isEmpty || (try? member.commit(transaction, to: partition)) != nil
        taken(isKept ? [:] : nil)
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
        guard let member, member.maySend(for: partition) else { return }
        state.withLock { $0.sent.append(delivery.id) }
        var outcome = LogTransaction()
        outcome.changes.removals = [OutboxKey(number: number)]
        _ = try? member.commit(outcome, to: partition)
    }
}
