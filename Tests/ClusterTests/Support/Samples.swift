import Core
import Delivery
import DeliveryTestSupport
import Push
import RouterConfiguration
import TimeTestSupport

@testable import Cluster

extension MemberName {
    /// Returns a valid name.
    static func known(_ text: String) -> MemberName {
        guard let name = MemberName(text) else { preconditionFailure("no name: \(text)") }
        return name
    }
}

extension Delivery {
    static func sample(_ number: Int, device: Int64 = 1) -> Delivery {
        Delivery(
            id: "d\(number)",
            device: DeviceID(rawValue: device),
            platform: "ios",
            app: "default",
            notification: .wake(.dm, urgency: .high),
            acceptedAt: 1_000
        )
    }
}

extension HeldRow {
    static func sample(_ key: HeldKey, members: [UInt8] = [], count: UInt32 = 1) -> HeldRow {
        HeldRow(
            key: key,
            members: members,
            account: [UInt8](repeating: 7, count: 32),
            event: [UInt8](repeating: UInt8(truncatingIfNeeded: key.rawValue), count: 32),
            isMessage: true,
            hasOverflowed: false,
            signal: .reply,
            mode: .alert,
            urgency: .normal,
            count: count,
            since: 5,
            expiresAt: 9,
            nature: .alert,
            mark: key.slot == 0 ? nil : 3,
            madeAt: 4
        )
    }
}

extension HeldMember {
    static func sample(_ key: HeldMemberKey, sealedTo: Int64? = nil, _ title: String = "") -> HeldMember {
        var notification = Notification.wake(.zap, urgency: .low)
        notification.title = title
        notification.origin = EventOrigin(
            event: SIMD4(repeating: 7),
            author: SIMD4(1, 2, 3, .max),
            createdAt: -1,
            address: sealedTo
        )
        return HeldMember(
            key: key,
            event: [UInt8](repeating: key.number, count: 32),
            mode: .nudge,
            expiresAt: 9,
            madeAt: -4,
            HeldNotification(notification, sealedTo: sealedTo)
        )
    }
}

extension LogTransaction {
    static func sample(_ numbers: Int...) -> LogTransaction {
        var transaction = LogTransaction()
        transaction.deliveries = numbers.map { .sample($0) }
        transaction.causes = numbers.map { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 32) }
        return transaction
    }

    static let crowdText = String(repeating: "for everybody ", count: 8)

    /// Returns an event for many devices, which share one notification.
    static func crowd(_ numbers: ClosedRange<Int>) -> LogTransaction {
        var notification = Notification.wake(.mention, urgency: .high)
        notification.title = crowdText
        var transaction = LogTransaction()
        transaction.deliveries = numbers.map { number in
            var delivery = Delivery.sample(number, device: Int64(number))
            delivery.notification = notification
            return delivery
        }
        return transaction
    }

    /// A transaction with a value in every field.
    static var full: LogTransaction {
        var transaction = sample(1, 2)
        let device = DeviceID(rawValue: 5)
        transaction.pace.forgotten = [DeviceID(rawValue: -3)]
        transaction.pace.rows = [
            PaceRow(
                device: device,
                pushedAt: 1,
                windowStart: 2,
                matches: 3,
                dayOfPushes: 4,
                pushes: 5,
                underWay: "d1",
                releasedAt: 6,
                unblocked: 1,
                silentPushes: [7, 8]
            )
        ]
        transaction.pace.held = [
            .sample(HeldKey(device: device, slot: 0)),
            .sample(HeldKey(device: device, slot: 1), members: [7, .max], count: 9),
            .sample(HeldKey(device: device, slot: 2), members: [0]),
        ]
        transaction.pace.members = [.sample(HeldMemberKey(device: device, number: 7), sealedTo: -1)]
        transaction.pace.removed = [HeldMemberKey(device: device, number: 3)]
        transaction.pace.withdrawn = [.event(SIMD4(1, 2, 3, 4)), .address(-5), .everything, .olderVersions(6)].map {
            Withdrawal(author: SIMD4(repeating: .max), $0, until: 7)
        }
        transaction.pace.released = [HeldKey(device: device, slot: 3)]
        let failure = FailedAttempt(.rejected, status: 400, reason: "BadTopic")
        transaction.changes.removals = [OutboxKey(number: 1)]
        transaction.changes.newDeadLetters = [
            OutboxChanges.NewDeadLetter(key: OutboxKey(number: 1), failure: failure, failedAt: 10, attempts: 2)
        ]
        transaction.changes.reschedulings = [
            OutboxChanges.Rescheduling(key: OutboxKey(number: 2), due: 11, attempts: 1, failure: failure),
            OutboxChanges.Rescheduling(key: OutboxKey(number: 2), due: 12, attempts: 2, failure: nil),
        ]
        transaction.changes.immediateRetries = [RetryPlace(due: 3, key: OutboxKey(number: 2))]
        transaction.changes.forgotten = [DeviceID(rawValue: 6)]
        transaction.changes.ends = [
            CompletedPush(device: device, delivery: "d1", counts: true, stopsBlocking: false, moment: 13)
        ]
        return transaction
    }
}

extension [UInt8] {
    /// Returns how often `bytes` occur in these.
    func count(of bytes: [UInt8]) -> Int {
        indices.count { $0 + bytes.count <= count && self[$0..<$0 + bytes.count].elementsEqual(bytes) }
    }
}
