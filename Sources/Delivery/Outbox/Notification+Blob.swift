import Notifications

extension Notification {
    /// The first byte of a blob: 1, or 2 for those that say more. Readers refuse others; a new field needs a new number.
    package static let blobVersion: UInt8 = 2
    private static let firstBlobVersion: UInt8 = 1

    /// The notification in a compact form of its own: a wake-up takes some twenty bytes. It holds no token or endpoint.
    package var blob: [UInt8] {
        var writer = BlobWriter(capacity: 48 + title.utf8.count + body.utf8.count + data.utf8.count)
        let saysMore = !neutral.isEmpty || !sealed.isEmpty
        writer.write(byte: saysMore ? Notification.blobVersion : Notification.firstBlobVersion)
        writer.write(byte: UInt8(truncatingIfNeeded: mode.rawValue))
        writer.write(byte: UInt8(truncatingIfNeeded: urgency.rawValue))
        writer.write(UInt64(count))
        writer.write(UInt64(bitPattern: expiresAt))
        for text in [signal.rawValue, title, subtitle, body, category, thread, collapseKey, url, data] {
            writer.write(text)
        }
        writer.write(UInt64(actions.count))
        for action in actions {
            writer.write(action.id)
            writer.write(action.label)
            writer.write(action.url)
            writer.write(action.icon)
        }
        writer.write(UInt64(native.count))
        for (platform, block) in native.sorted(by: { $0.key < $1.key }) {
            writer.write(platform)
            writer.write(block)
        }
        if saysMore {
            for text in [neutral.title, neutral.body, sealed] { writer.write(text) }
        }
        return writer.bytes
    }

    /// Reads ``blob``. The bytes may be anything: what is not a whole notification throws.
    package init(blob: UnsafeRawBufferPointer) throws(NotificationBlobError) {
        var reader = BlobReader(blob)
        let version = try reader.byte()
        guard version == Notification.blobVersion || version == Notification.firstBlobVersion else {
            throw .unknownVersion(version)
        }
        guard let mode = Mode(rawValue: Int32(try reader.byte())) else {
            throw .invalidValue(field: "mode", offset: reader.offset)
        }
        guard let urgency = Urgency(rawValue: Int32(try reader.byte())) else {
            throw .invalidValue(field: "urgency", offset: reader.offset)
        }
        guard let count = UInt32(exactly: try reader.integer()) else {
            throw .invalidValue(field: "count", offset: reader.offset)
        }
        let expiresAt = Int64(bitPattern: try reader.integer())
        self.init(mode: mode, signal: Signal(rawValue: try reader.text()), urgency: urgency, count: count)
        self.expiresAt = expiresAt
        title = try reader.text()
        subtitle = try reader.text()
        body = try reader.text()
        category = try reader.text()
        thread = try reader.text()
        collapseKey = try reader.text()
        url = try reader.text()
        data = try reader.text()
        for _ in 0..<(try reader.count()) {
            actions.append(
                NotificationAction(
                    id: try reader.text(),
                    label: try reader.text(),
                    url: try reader.text(),
                    icon: try reader.text()
                )
            )
        }
        for _ in 0..<(try reader.count()) {
            let platform = try reader.text()
            native[platform] = try reader.text()
        }
        if version != Notification.firstBlobVersion {
            neutral = NeutralTexts(title: try reader.text(), body: try reader.text())
            sealed = try reader.text()
        }
        guard reader.remaining == 0 else { throw .trailingBytes(reader.remaining) }
    }
}
