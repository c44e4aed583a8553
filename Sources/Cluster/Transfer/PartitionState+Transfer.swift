import Delivery
import Notifications
import Units

/// Filling a partition's state from an outbox, before its log begins.
extension PartitionState {
    package mutating func adopt(
        _ delivery: Delivery,
        attempts: Int,
        due: Timestamp?,
        failure: DeliveryFailure?
    ) {
        waiting[nextDelivery] = Waiting(delivery: delivery, attempts: attempts, due: due, failure: failure)
        nextDelivery += 1
    }

    package mutating func adopt(_ row: PaceRow) { paces[row.device] = row }

    package mutating func adopt(_ row: HeldRow) { held[row.key] = row }

    package mutating func adopt(_ member: HeldMember) { members[member.key] = member }

    package mutating func adopt(_ letter: Outbox.KeptLetter) {
        keep(
            DeadLetter(
                delivery: letter.delivery,
                failure: letter.failure,
                failedAt: letter.failedAt,
                attempts: letter.attempts
            )
        )
    }

    /// The oldest first.
    package mutating func adopt(_ withdrawal: Withdrawal) { remember(withdrawal) }

    /// The oldest first.
    package mutating func adopt(cause: [UInt8]) { remember(cause) }

    package mutating func adopt(_ mark: RelayMark) { relays[mark.relay] = mark.moment }
}

/// What an outbox takes over.
extension PartitionState {
    package var waitingCount: Int { waiting.count }
    package var heldCount: Int { held.count }
    package var letterCount: Int { deadLetters.count }

    /// In the order in which they came.
    package var storedWaiting: [(delivery: Delivery, attempts: Int, due: Timestamp?, failure: DeliveryFailure?)] {
        waiting.sorted { $0.key < $1.key }.map {
            ($0.value.delivery, $0.value.attempts, $0.value.due, $0.value.failure)
        }
    }

    package var keptLetters: [Outbox.KeptLetter] {
        deadLetters.sorted { $0.key < $1.key }.map { entry in
            Outbox.KeptLetter(
                delivery: entry.value.delivery,
                failure: entry.value.failure,
                failedAt: entry.value.failedAt,
                attempts: entry.value.attempts
            )
        }
    }

    package var storedPaces: PaceChanges {
        var pace = PaceChanges()
        pace.rows = Array(paces.values)
        pace.held = Array(held.values)
        pace.members = Array(members.values)
        pace.withdrawn = Array(withdrawals)
        return pace
    }
}
