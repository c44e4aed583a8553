import Notifications
import Units

/// The outbox of a router, and those of the partitions that it owns: what one ``OutboxReader`` tells of one of them.
package struct OutboxReaders: Sendable {
    /// The router's own.
    package let own: OutboxReader
    private let partitions: @Sendable () -> [OutboxReader]

    package init(own: OutboxReader, partitions: @escaping @Sendable () -> [OutboxReader] = { [] }) {
        (self.own, self.partitions) = (own, partitions)
    }

    private var all: [OutboxReader] { [own] + partitions() }

    package func oldest() throws -> Timestamp? { try all.compactMap { try $0.oldest() }.min() }

    package func contained(of deliveries: Set<DeliveryID>) throws -> Set<DeliveryID> {
        try all.reduce(into: []) { try $0.formUnion($1.contained(of: deliveries)) }
    }

    package func predecessors(of deliveries: Set<DeliveryID>) throws -> [DeliveryID: Timestamp] {
        try all.reduce(into: [:]) { try $0.merge($1.predecessors(of: deliveries), uniquingKeysWith: max) }
    }

    package func waiting(for devices: [DeviceID]) throws -> [DeviceID: Int] {
        try all.reduce(into: [:]) { try $0.merge($1.waiting(for: devices), uniquingKeysWith: +) }
    }

    package func isCrowded(_ queue: QueueName, limit: Int) throws -> Bool {
        try all.contains { try $0.isCrowded(queue, limit: limit) }
    }

    /// A device is in one partition, so that one outbox knows its pace.
    package func paces(of devices: [DeviceID]) throws -> [DeviceID: (row: PaceRow, held: [HeldRow])] {
        try all.reduce(into: [:]) { try $0.merge($1.paces(of: devices)) { first, _ in first } }
    }

    package func devices(holding event: [UInt8]) throws -> [DeviceID] {
        try all.flatMap { try $0.devices(holding: event) }
    }
}
