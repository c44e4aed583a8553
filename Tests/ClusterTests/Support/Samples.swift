import Cluster
import Delivery
import DeliveryTestSupport
import Notifications
import TimeTestSupport
import Units

extension MemberName {
    /// A name that is known to be one.
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
    static func sample(_ key: HeldKey, content: HeldRow.Content, count: UInt32 = 1) -> HeldRow {
        HeldRow(
            key: key,
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
            content: content,
            nature: .alert,
            mark: key.slot == 0 ? nil : 3,
            madeAt: 4
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

    /// An event for many devices, which is one notification.
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

    /// Every field has something in it.
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
                aside: 1,
                silentPushes: [7, 8]
            )
        ]
        let held = HeldNotification(.wake(.zap, urgency: .low), sealedTo: -1)
        transaction.pace.held = [
            .sample(HeldKey(device: device, slot: 0), content: .asBefore),
            .sample(HeldKey(device: device, slot: 1), content: .none, count: 9),
            .sample(HeldKey(device: device, slot: 2), content: .notification(held)),
        ]
        transaction.pace.released = [HeldKey(device: device, slot: 3)]
        let failure = DeliveryFailure(.rejected, status: 400, reason: "BadTopic")
        transaction.changes.removals = [OutboxKey(number: 1)]
        transaction.changes.burials = [
            OutboxChanges.Burial(key: OutboxKey(number: 1), failure: failure, failedAt: 10, attempts: 2)
        ]
        transaction.changes.reschedulings = [
            OutboxChanges.Rescheduling(key: OutboxKey(number: 2), due: 11, attempts: 1, failure: failure),
            OutboxChanges.Rescheduling(key: OutboxKey(number: 2), due: 12, attempts: 2, failure: nil),
        ]
        transaction.changes.hastenings = [OutboxChanges.Hastening(key: OutboxKey(number: 2), due: 3)]
        transaction.changes.forgotten = [DeviceID(rawValue: 6)]
        transaction.changes.ends = [
            PushEnd(device: device, delivery: "d1", counts: true, standsAside: false, moment: 13)
        ]
        return transaction
    }
}

extension [UInt8] {
    /// How often `bytes` come in these.
    func count(of bytes: [UInt8]) -> Int {
        indices.count { $0 + bytes.count <= count && self[$0..<$0 + bytes.count].elementsEqual(bytes) }
    }
}
