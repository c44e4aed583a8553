import Core
import Push

/// Reads the format of ``BlobWriter`` from untrusted bytes.
package struct BlobReader {
    private let bytes: UnsafeRawBufferPointer
    package private(set) var offset = 0

    /// `bytes` must outlive the reader.
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Reads from an array.
    package static func reading<Value>(
        _ bytes: [UInt8],
        _ body: (inout BlobReader) throws(BlobError) -> Value
    ) throws(BlobError) -> Value {
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(BlobError) -> Value in
                var reader = BlobReader(bytes)
                return try body(&reader)
            }
        }.get()
    }

    package var remaining: Int { bytes.count - offset }

    package mutating func byte() throws(BlobError) -> UInt8 {
        guard offset < bytes.count else { throw .truncated(offset: offset) }
        defer { offset += 1 }
        return bytes[offset]
    }

    package mutating func integer() throws(BlobError) -> UInt64 {
        let start = offset
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try byte()
            let bits = UInt64(byte & 0x7F)
            guard shift < 63 || (shift == 63 && bits <= 1) else { throw .invalidValue(field: "integer", offset: start) }
            value |= bits << shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }

    /// Reads a count of items of at least one byte each, so it never exceeds the remaining bytes.
    package mutating func count() throws(BlobError) -> Int {
        let start = offset
        let value = try integer()
        guard value <= UInt64(remaining) else { throw .truncated(offset: start) }
        return Int(value)
    }

    package mutating func text() throws(BlobError) -> String {
        let length = try count()
        guard length > 0 else { return "" }
        let slice = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])
        guard let text = String(validating: slice, as: UTF8.self) else { throw .invalidUTF8(offset: offset) }
        offset += length
        return text
    }

    /// Reads bytes with a length prefix. Copies them.
    package mutating func blob() throws(BlobError) -> [UInt8] { try fixed(try count()) }

    /// Reads `length` bytes. Copies them.
    package mutating func fixed(_ length: Int) throws(BlobError) -> [UInt8] {
        guard length >= 0, length <= remaining else { throw .truncated(offset: offset) }
        defer { offset += length }
        return Array(bytes[offset..<offset + length])
    }

    /// Reads a signed integer in the form of ``BlobWriter/write(signed:)``.
    package mutating func signed() throws(BlobError) -> Int64 { Int64(bitPattern: try integer()) }

    /// Reads a signed integer in the form of ``BlobWriter/write(zigzag:)``.
    package mutating func zigzag() throws(BlobError) -> Int64 {
        let value = try integer()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    package mutating func flag() throws(BlobError) -> Bool {
        let start = offset
        let byte = try byte()
        guard byte <= 1 else { throw .invalidValue(field: "flag", offset: start) }
        return byte == 1
    }

    /// Throws if bytes are left.
    package func end() throws(BlobError) {
        guard remaining == 0 else { throw .trailingBytes(remaining) }
    }
}

/// Writes integers as LEB128 and texts as their length and UTF-8 bytes.
package struct BlobWriter {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    /// Starts again, with the same memory.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    package mutating func write(byte: UInt8) {
        bytes.append(byte)
    }

    package mutating func write(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    package mutating func write(_ text: String) {
        // Writes in place, without a copy of the string that needs reference counting.
        let isWritten: Void? = text.utf8.withContiguousStorageIfAvailable { write(text: $0) }
        guard isWritten == nil else { return }
        var text = text
        text.withUTF8 { write(text: $0) }
    }

    @inline(__always)
    private mutating func write(text utf8: UnsafeBufferPointer<UInt8>) {
        write(UInt64(utf8.count))
        bytes.append(contentsOf: utf8)
    }

    /// Writes bytes with a length prefix.
    package mutating func write(blob: [UInt8]) {
        write(UInt64(blob.count))
        bytes.append(contentsOf: blob)
    }

    /// Writes bytes without a length.
    package mutating func write(fixed: [UInt8]) { bytes.append(contentsOf: fixed) }

    /// Writes borrowed bytes without a length.
    package mutating func write(fixed: UnsafeRawBufferPointer) { bytes.append(contentsOf: fixed) }

    /// Writes a signed integer, which is short if it is near zero.
    package mutating func write(zigzag value: Int64) { write(UInt64(bitPattern: value << 1 ^ value >> 63)) }

    package mutating func write(signed value: Int64) { write(UInt64(bitPattern: value)) }

    package mutating func write(flag: Bool) { bytes.append(flag ? 1 : 0) }
}

/// The reason why bytes are not in the format of ``BlobWriter``.
package enum BlobError: Error, Equatable, CustomStringConvertible {
    case unknownVersion(UInt8)
    case truncated(offset: Int)
    case invalidValue(field: String, offset: Int)
    case invalidUTF8(offset: Int)
    case trailingBytes(Int)

    package var description: String {
        switch self {
        case .unknownVersion(let version): "data has the unknown format \(version), perhaps of a newer Carillon"
        case .truncated(let offset): "data ends at byte \(offset), in the middle of a field"
        case .invalidValue(let field, let offset): "data has no valid \(field) at byte \(offset)"
        case .invalidUTF8(let offset): "data has text that is not UTF-8 at byte \(offset)"
        case .trailingBytes(let count): "data is followed by \(count) unexpected bytes"
        }
    }
}

extension Notification {
    /// The version of blobs, in the lower half of their first byte. Readers refuse others; a new field requires a new
    /// version or a flag.
    package static let blobVersion: UInt8 = 1
    /// In the upper half: the notification's event follows.
    private static let originFlag: UInt8 = 0x10
    /// Neutral texts or an envelope follow the other fields.
    private static let neutralTextsFlag: UInt8 = 0x20
    /// A presentation of the neutral texts follows.
    private static let neutralPresentationFlag: UInt8 = 0x40
    private static let flags = originFlag | neutralTextsFlag | neutralPresentationFlag
    /// The author's offset in a blob with an event.
    static let authorPlace = 1 + MemoryLayout<SIMD4<UInt64>>.size

    /// The notification in a compact binary form: a wake-up takes about twenty bytes. It contains no token or endpoint.
    package var blob: [UInt8] {
        // Each text is read once, without an array of them, because each push has a blob.
        let (actions, native) = (actions, native)
        // A number and a length take a few bytes.
        let lengths = textBytes + (native.isEmpty ? 0 : native.reduce(0) { $0 + $1.value.utf8.count + 16 })
        let origin = origin
        var writer = BlobWriter(capacity: 96 + (origin == nil ? 0 : 80) + lengths)
        let (neutral, sealed) = (neutral, sealed)
        let hasNeutralTexts = !neutral.isEmpty || !sealed.isEmpty
        let hasNeutralPresentation = hasNeutralPresentation
        writer.write(
            byte: Notification.blobVersion | (origin == nil ? 0 : Notification.originFlag)
                | (hasNeutralTexts ? Notification.neutralTextsFlag : 0)
                | (hasNeutralPresentation ? Notification.neutralPresentationFlag : 0)
        )
        if let origin { writer.write(origin) }
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
        if hasNeutralTexts {
            writer.write(neutral.title)
            writer.write(neutral.body)
            writer.write(sealed)
        }
        if hasNeutralPresentation {
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

    /// Reads ``blob`` from untrusted bytes. Throws unless they are one whole notification.
    package init(blob: UnsafeRawBufferPointer) throws(BlobError) {
        var reader = BlobReader(blob)
        let first = try reader.byte()
        guard first & ~Notification.flags == Notification.blobVersion else { throw .unknownVersion(first) }
        let origin = first & Notification.originFlag == 0 ? nil : try reader.origin()
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
        if first & Notification.neutralTextsFlag != 0 {
            neutral = NeutralTexts(title: try reader.text(), body: try reader.text())
            sealed = try reader.text()
        }
        if first & Notification.neutralPresentationFlag != 0 {
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
    /// Nil unless there are 32 `bytes`.
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
