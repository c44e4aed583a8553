import Notifications
import Units

extension Notification {
    /// The first byte of a blob: 1, 2 for those with neutral texts or an envelope, 3 for those whose neutral texts have
    /// a presentation. Readers refuse others; a new field needs a new number.
    package static let blobVersion: UInt8 = 3
    private static let versionOfNeutralTexts: UInt8 = 2
    private static let firstBlobVersion: UInt8 = 1
    /// Added to the version of a blob in which the event that it is about follows at once.
    private static let hasOrigin: UInt8 = 0x10
    /// The author's place in such a blob.
    static let authorPlace = 1 + MemoryLayout<SIMD4<UInt64>>.size

    /// The notification in a compact form of its own: a wake-up takes some twenty bytes. It holds no token or endpoint.
    package var blob: [UInt8] {
        // Each text is asked for once, and without an array of them, since each push has a blob.
        let (actions, native) = (actions, native)
        // A number and a length take a few bytes.
        let lengths = textBytes + (native.isEmpty ? 0 : native.reduce(0) { $0 + $1.value.utf8.count + 16 })
        let origin = origin
        var writer = BlobWriter(capacity: 96 + (origin == nil ? 0 : 80) + lengths)
        let (neutral, sealed) = (neutral, sealed)
        let version =
            hasNeutralPresentation
            ? Notification.blobVersion
            : neutral.isEmpty && sealed.isEmpty ? Notification.firstBlobVersion : Notification.versionOfNeutralTexts
        if let origin {
            writer.write(byte: version | Notification.hasOrigin)
            writer.write(origin)
        } else {
            writer.write(byte: version)
        }
        writer.write(byte: UInt8(truncatingIfNeeded: mode.rawValue))
        writer.write(byte: UInt8(truncatingIfNeeded: urgency.rawValue))
        writer.write(UInt64(count))
        writer.write(UInt64(bitPattern: expiresAt.milliseconds))
        writer.write(signal.rawValue)
        writer.write(title)
        writer.write(subtitle)
        writer.write(body)
        writer.write(category)
        writer.write(thread)
        writer.write(collapseKey)
        writer.write(url)
        writer.write(data)
        writer.write(actions)
        writer.write(native)
        if version >= Notification.versionOfNeutralTexts {
            writer.write(neutral.title)
            writer.write(neutral.body)
            writer.write(sealed)
        }
        if version == Notification.blobVersion {
            let presentation = neutralPresentation
            writer.write(presentation.subtitle)
            writer.write(presentation.category)
            writer.write(presentation.thread)
            writer.write(presentation.collapseKey)
            writer.write(presentation.url)
            writer.write(presentation.data)
            writer.write(presentation.actions)
            writer.write(presentation.native)
        }
        return writer.bytes
    }

    /// Reads ``blob``. The bytes may be anything; throws unless they are one whole notification.
    package init(blob: UnsafeRawBufferPointer) throws(BlobError) {
        var reader = BlobReader(blob)
        let stated = try reader.byte()
        let version = stated & ~Notification.hasOrigin
        guard (Notification.firstBlobVersion...Notification.blobVersion).contains(version) else {
            throw .unknownVersion(stated)
        }
        let origin = stated == version ? nil : try reader.origin()
        guard let mode = Mode(rawValue: Int32(try reader.byte())) else {
            throw .invalidValue(field: "mode", offset: reader.offset)
        }
        guard let urgency = Urgency(rawValue: Int32(try reader.byte())) else {
            throw .invalidValue(field: "urgency", offset: reader.offset)
        }
        guard let count = UInt32(exactly: try reader.integer()) else {
            throw .invalidValue(field: "count", offset: reader.offset)
        }
        let expiresAt = Timestamp(milliseconds: Int64(bitPattern: try reader.integer()))
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
        actions = try reader.actions()
        native = try reader.blocks()
        if version >= Notification.versionOfNeutralTexts {
            neutral = NeutralTexts(title: try reader.text(), body: try reader.text())
            sealed = try reader.text()
        }
        if version == Notification.blobVersion {
            neutralPresentation.subtitle = try reader.text()
            neutralPresentation.category = try reader.text()
            neutralPresentation.thread = try reader.text()
            neutralPresentation.collapseKey = try reader.text()
            neutralPresentation.url = try reader.text()
            neutralPresentation.data = try reader.text()
            neutralPresentation.actions = try reader.actions()
            neutralPresentation.native = try reader.blocks()
        }
        guard reader.remaining == 0 else { throw .trailingBytes(reader.remaining) }
        self.origin = origin
    }
}

extension SIMD4<UInt64> {
    /// Nil unless `bytes` are 32.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == MemoryLayout<Self>.size else { return nil }
        self = bytes.loadUnaligned(as: Self.self)
    }
}

extension BlobWriter {
    package mutating func write(words: SIMD4<UInt64>) {
        withUnsafeBytes(of: words) { write(fixed: $0) }
    }

    fileprivate mutating func write(_ origin: EventOrigin) {
        write(words: origin.event)
        write(words: origin.author)
        write(signed: origin.createdAt)
        write(flag: origin.address != nil)
        if let address = origin.address { write(signed: address) }
    }

    fileprivate mutating func write(_ actions: [NotificationAction]) {
        write(UInt64(actions.count))
        for action in actions {
            write(action.id)
            write(action.label)
            write(action.url)
            write(action.icon)
        }
    }

    fileprivate mutating func write(_ blocks: [String: String]) {
        write(UInt64(blocks.count))
        guard blocks.count > 1 else {
            for (platform, block) in blocks {
                write(platform)
                write(block)
            }
            return
        }
        for (platform, block) in blocks.sorted(by: { $0.key < $1.key }) {
            write(platform)
            write(block)
        }
    }
}

extension BlobReader {
    package mutating func words() throws(BlobError) -> SIMD4<UInt64> {
        let bytes = try fixed(MemoryLayout<SIMD4<UInt64>>.size)
        return bytes.withUnsafeBytes { SIMD4(bytes: $0) } ?? .zero
    }

    fileprivate mutating func origin() throws(BlobError) -> EventOrigin {
        EventOrigin(
            event: try words(),
            author: try words(),
            createdAt: try signed(),
            address: try flag() ? try signed() : nil
        )
    }

    fileprivate mutating func actions() throws(BlobError) -> [NotificationAction] {
        var actions: [NotificationAction] = []
        for _ in 0..<(try count()) {
            actions.append(
                NotificationAction(id: try text(), label: try text(), url: try text(), icon: try text())
            )
        }
        return actions
    }

    fileprivate mutating func blocks() throws(BlobError) -> [String: String] {
        var blocks: [String: String] = [:]
        for _ in 0..<(try count()) {
            let platform = try text()
            blocks[platform] = try text()
        }
        return blocks
    }
}
