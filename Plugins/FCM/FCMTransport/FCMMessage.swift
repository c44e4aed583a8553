import Core
import PluginKit

/// The body of `messages:send`: a `Message` for one token (Google, "Method: projects.messages.send").
enum FCMMessage {
    /// Google's limit for names and values of `data` and of the notification, in bytes.
    static let limit = 4096

    /// Returns nil for an unsupported mode. `payloads` caches the last message.
    static func make(
        _ notification: borrowing Notification,
        to token: BorrowedText,
        isDirectBootOK: Bool = false,
        payloads: RepeatedPayload = RepeatedPayload(),
        now: Timestamp
    ) throws(MessageError) -> [UInt8]? {
        guard isSupported(notification) else { return nil }
        let common = try payloads.payload(of: notification) { () throws(MessageError) in
            try commonPart(of: notification, isDirectBootOK: isDirectBootOK)
        }
        return whole(common, to: token, lifetime: AndroidConfig.lifetime(of: notification, now: now))
    }

    private static func isSupported(_ notification: borrowing Notification) -> Bool {
        switch notification.mode {
        case .wake, .nudge, .alert: true
        // Only the router seals messages for this transport.
        case .sealed: !notification.sealed.isEmpty
        case nil: false
        }
    }

    // MARK: The part that is the same for all devices of an event

    /// The start of each message; its token follows.
    private static let beginning: StaticString = #"{"message":{"#
    private static let end: StaticString = "}}}"

    /// Returns a message without its token, up to the lifetime in its `AndroidConfig`. The lifetime depends on the
    /// time; the rest is the same for each device.
    private static func commonPart(
        of notification: borrowing Notification,
        isDirectBootOK: Bool
    ) throws(MessageError) -> [UInt8] {
        switch notification.mode {
        case .nudge:
            guard !notification.title.isEmpty || !notification.body.isEmpty else { throw .empty }
            let nudge = try AlertContent(notification, usual: .notification)
            let config = AndroidConfig(notification, nudge.block, isDirectBootOK: isDirectBootOK)
            return try fitted(config) { writer, limits in nudge.write(notification, to: &writer, within: limits) }
        case .sealed:
            // The app draws sealed messages, because only the app opens the envelope.
            let block = try AndroidBlock(parsing: notification.native).drawnByTheApp
            let config = AndroidConfig(notification, block, isDirectBootOK: isDirectBootOK)
            return try fitted(config) { writer, _ in
                writer.json.key("data")
                writer.json.beginObject()
                writer.text("sealed", notification.sealed)
                writer.json.endObject()
                return FittedPayload.Lengths()
            }
        case .alert:
            let alert = try AlertContent(notification)
            let config = AndroidConfig(notification, alert.block, isDirectBootOK: isDirectBootOK)
            return try fitted(config) { writer, limits in alert.write(notification, to: &writer, within: limits) }
        case .wake, nil:
            return try fitted(AndroidConfig(notification, .none, isDirectBootOK: isDirectBootOK)) { writer, _ in
                writeSignal(notification, to: &writer)
                return FittedPayload.Lengths()
            }
        }
    }

    /// Returns the message to one device, with its lifetime if `common` ends in a name.
    private static func whole(_ common: [UInt8], to token: BorrowedText, lifetime: Duration) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: common.count + token.count + 64)
        writer.beginObject()
        writer.key("message")
        writer.beginObject()
        writer.key("token")
        writer.string(token)
        var message = writer.bytes
        message.append(UInt8(ascii: ","))
        message += common[beginning.utf8CodeUnitCount...]
        if common.last == UInt8(ascii: ":") { message += "\"\(lifetime.seconds)s\"".utf8 }
        end.withUTF8Buffer { message += $0 }
        return message
    }

    /// Writes the signal and the number of events, without the texts.
    private static func writeSignal(_ notification: borrowing Notification, to writer: inout MessageWriter) {
        writer.json.key("data")
        writer.json.beginObject()
        if notification.count > 1 {
            writer.text("t", "batch")
            writer.text("n", String(notification.count))
        } else {
            writer.text("t", notification.signal)
        }
        writer.json.endObject()
    }

    private static func fitted(
        _ android: AndroidConfig,
        _ writeContent: (inout MessageWriter, FittedPayload.Limits) -> FittedPayload.Lengths
    ) throws(MessageError) -> [UInt8] {
        let bytes = FittedPayload.fit(limit: limit) { limits in
            var writer = MessageWriter()
            writer.json.beginObject()
            writer.json.key("message")
            writer.json.beginObject()
            let lengths = writeContent(&writer, limits)
            android.begin(in: &writer)
            return FittedPayload.Attempt(writer.json.bytes, byteCount: writer.byteCount, lengths: lengths)
        }
        guard let bytes else { throw .tooLarge }
        return bytes
    }
}

/// An error about a notification that cannot become a message. The raw value is the outcome's reason.
enum MessageError: String, Error {
    /// `data` is not a JSON object.
    case badData = "bad-data"
    /// The rule's block, or its `notification`, is not a JSON object.
    case badNative = "bad-native"
    /// There is nothing for FCM to show.
    case empty = "payload-empty"
    /// More than 4096 bytes even with the shortest texts.
    case tooLarge = "payload-too-large"
}

/// Writes a message's JSON and counts the bytes that Google counts: those of names and values in `data` and in the
/// notification. Texts that may be shortened are counted as JSON, which is at least as long.
struct MessageWriter {
    var json = JSONWriter()
    private(set) var byteCount = 0

    /// Writes a text, unless it is empty.
    mutating func text(_ name: StaticString, _ text: BorrowedText) {
        guard !text.isEmpty else { return }
        json.key(name)
        json.string(text)
        byteCount += name.utf8CodeUnitCount + text.count
    }

    /// Writes a text, unless it is empty.
    mutating func text(_ name: StaticString, _ text: String) {
        guard !text.isEmpty else { return }
        json.key(name)
        json.string(text)
        byteCount += name.utf8CodeUnitCount + text.utf8.count
    }

    /// Writes a text truncated to `limit` bytes of JSON, unless it is empty. Returns the number of bytes of JSON.
    mutating func text(_ name: StaticString, _ text: BorrowedText, limit: Int?) -> Int {
        let length = json.member(name, text, limit: limit)
        if length > 0 {
            byteCount += name.utf8CodeUnitCount + length
        }
        return length
    }

    /// Writes a JSON text truncated to `limit` bytes, unless it is empty. Returns the number of bytes.
    mutating func text(_ name: StaticString, _ value: JSONValue, limit: Int?) -> Int {
        let length = json.member(name, value, limit: limit)
        if length > 0 {
            byteCount += name.utf8CodeUnitCount + length
        }
        return length
    }

    /// Writes a member of `data`, under `name` if that is given. All values of `data` are strings: numbers, objects and
    /// arrays become their JSON as a string, and null is omitted.
    mutating func data(_ member: JSONMember, as name: String? = nil) {
        guard !member.value.isNull else { return }
        if let name {
            json.key(escaping: name)
            byteCount += name.utf8.count
        } else {
            json.key(of: member)
            byteCount += member.rawKey.count - 2
        }
        if member.value.isString {
            json.value(member.value)
            byteCount += member.value.decodedTextLength
        } else {
            json.string(String(decoding: member.value.raw, as: UTF8.self))
            byteCount += member.value.raw.count
        }
    }

    /// Writes the members of a notification unchanged.
    mutating func members(of notification: JSONObject) {
        json.members(of: notification)
        for index in 0..<notification.count {
            let member = notification.member(at: index)
            byteCount += member.rawKey.count + member.value.raw.count
        }
    }
}

extension JSONValue {
    /// The length of a text in bytes of UTF-8.
    fileprivate var decodedTextLength: Int {
        raw.contains(UInt8(ascii: "\\")) ? string?.utf8.count ?? 0 : raw.count - 2
    }
}
