import Delivery
import Push

/// The table of notifications that several deliveries share. It is encoded before the deliveries.
struct SharedTable {
    private let inserted: InsertedNotifications
    private let count: Int
    let blobs: [[UInt8]]
    /// Numbers in the table, by the index of the first delivery with the notification.
    private let numbers: [Int: Int]

    init(_ deliveries: [Delivery]) {
        inserted = InsertedNotifications(of: deliveries)
        count = deliveries.count
        let shared = inserted.shared
        blobs = shared.map(\.blob)
        numbers = Dictionary(uniqueKeysWithValues: shared.enumerated().map { ($1.place, $0) })
    }

    fileprivate enum Content {
        case own([UInt8])
        /// The number of a shared notification in the table.
        case shared(Int)
    }

    /// The encoded content of the delivery at `place`: a reference if its notification is shared.
    fileprivate func content(of delivery: Delivery, at place: Int) -> Content {
        guard place < count else { return .own(delivery.notification.blob) }
        guard !blobs.isEmpty, let number = inserted.sharedPlace(at: place).flatMap({ numbers[$0] }) else {
            return .own(inserted.blob(at: place))
        }
        return .shared(number)
    }
}

// MARK: Writing

extension BlobWriter {
    mutating func write(_ table: SharedTable) { write(table.blobs) { $0.write(blob: $1) } }

    mutating func write(_ delivery: Delivery) {
        writeHead(of: delivery)
        write(blob: delivery.notification.blob)
    }

    /// `place` is the delivery's index in the table. A shared notification becomes an empty one and its number.
    mutating func write(_ delivery: Delivery, sharing table: SharedTable, at place: Int) {
        writeHead(of: delivery)
        switch table.content(of: delivery, at: place) {
        case .own(let blob): write(blob: blob)
        case .shared(let number):
            write(blob: [])
            write(UInt64(number))
        }
    }

    private mutating func writeHead(of delivery: Delivery) {
        write(delivery.id)
        write(signed: delivery.device.rawValue)
        write(delivery.platform)
        write(delivery.app)
        write(delivery.acceptedAt)
    }
}

// MARK: Reading

extension BlobReader {
    mutating func sharedNotifications() throws(BlobError) -> [Notification] {
        try list { reader throws(BlobError) in try reader.notification() }
    }

    mutating func notification() throws(BlobError) -> Notification { try Self.notification(try blob()) }

    private static func notification(_ bytes: [UInt8]) throws(BlobError) -> Notification {
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(BlobError) in try Notification(blob: bytes) }
        }.get()
    }

    mutating func delivery(sharing shared: [Notification] = []) throws(BlobError) -> Delivery {
        let (id, device, platform, app) = (try deliveryID(), try device(), try text(), try text())
        let acceptedAt = try moment()
        return Delivery(
            id: id,
            device: device,
            platform: platform,
            app: app,
            notification: try notification(sharing: shared),
            acceptedAt: acceptedAt
        )
    }

    private mutating func notification(sharing shared: [Notification]) throws(BlobError) -> Notification {
        let bytes = try blob()
        guard bytes.isEmpty, !shared.isEmpty else { return try Self.notification(bytes) }
        let start = offset
        guard let number = Int(exactly: try integer()), shared.indices.contains(number) else {
            throw .invalidValue(field: "notification", offset: start)
        }
        return shared[number]
    }
}
