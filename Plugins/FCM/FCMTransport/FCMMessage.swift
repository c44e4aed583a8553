import PluginKit
import Units

/// The body of `messages:send`: a `Message` for one token (Google, "Method: projects.messages.send").
enum FCMMessage {
    /// Google's limit for names and values of `data` and of the notification, in bytes.
    static let limit = 4096

    /// Nil for an unsupported mode.
    static func make(
        _ notification: borrowing Notification,
        to token: BorrowedText,
        isDirectBootOK: Bool = false,
        now: Timestamp
    ) throws(MessageError) -> [UInt8]? {
        let plain = AndroidConfig(notification, .none, isDirectBootOK: isDirectBootOK, now: now)
        switch notification.mode {
        case .wake:
            return try fitted(token, plain) { writer, _ in
                writeSignal(notification, to: &writer)
                return FittedPayload.Lengths()
            }
        case .nudge:
            guard !notification.title.isEmpty || !notification.body.isEmpty else { throw .empty }
            let nudge = try AlertContent(notification, usual: .notification)
            let config = AndroidConfig(notification, nudge.block, isDirectBootOK: isDirectBootOK, now: now)
            return try fitted(token, config) { writer, limits in
                nudge.write(notification, to: &writer, within: limits)
            }
        case .sealed:
            guard !notification.sealed.isEmpty else { return nil }
            // The app draws sealed messages, because only the app opens the envelope.
            let block = try AndroidBlock(parsing: notification.native).drawnByTheApp
            let config = AndroidConfig(notification, block, isDirectBootOK: isDirectBootOK, now: now)
            return try fitted(token, config) { writer, _ in
                writer.json.key("data")
                writer.json.beginObject()
                writer.text("sealed", notification.sealed)
                writer.json.endObject()
                return FittedPayload.Lengths()
            }
        case .alert:
            let alert = try AlertContent(notification)
            let config = AndroidConfig(notification, alert.block, isDirectBootOK: isDirectBootOK, now: now)
            return try fitted(token, config) { writer, limits in
                alert.write(notification, to: &writer, within: limits)
            }
        case nil: return nil
        }
    }

    /// Writes the signal and the number of events (seed 004 section 2), without the texts.
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
        _ token: BorrowedText,
        _ android: AndroidConfig,
        _ writeContent: (inout MessageWriter, FittedPayload.Limits) -> FittedPayload.Lengths
    ) throws(MessageError) -> [UInt8] {
        let bytes = FittedPayload.fit(limit: limit) { limits in
            var writer = MessageWriter()
            writer.json.beginObject()
            writer.json.key("message")
            writer.json.beginObject()
            writer.json.key("token")
            writer.json.string(token)
            let lengths = writeContent(&writer, limits)
            android.write(to: &writer)
            writer.json.endObject()
            writer.json.endObject()
            return FittedPayload.Attempt(writer.json.bytes, byteCount: writer.byteCount, lengths: lengths)
        }
        guard let bytes else { throw .tooLarge }
        return bytes
    }
}

/// Why a notification cannot become a message. The raw value is the outcome's reason.
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
