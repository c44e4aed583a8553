import PluginKit
import Units

/// The body of `messages:send`: a message for one token (Huawei, "Push Kit REST API, Downlink Message Sending").
///
/// `data` is one text, which the app gets. It is a JSON object with, as far as they are set, `t`, `n`, `id`, `title`,
/// `subtitle`, `body`, `category`, `thread`, `url` and `actions`, the members of the notification's data and those of
/// the block's `notification`. If several have the same name, the block wins over the data, and the data over ours. If
/// Push Kit draws, title and body are in `android.notification`, and there is no `data`.
enum HMSMessage {
    /// Huawei's limit for the message without its token, in bytes.
    static let limit = 4096

    /// Nil for an unsupported mode.
    static func make(
        _ notification: borrowing Notification,
        to token: BorrowedText,
        allowsHighPriority: Bool = false,
        now: Timestamp
    ) throws(MessageError) -> [UInt8]? {
        let usual: HMSBlock.Style = notification.mode == .nudge ? .notification : .data
        var block = notification.mode == .wake ? HMSBlock() : try HMSBlock(parsing: notification.native, usual: usual)
        switch notification.mode {
        case .wake: break
        case .nudge:
            guard !notification.title.isEmpty || !notification.body.isEmpty else { throw .empty }
        case .sealed:
            guard !notification.sealed.isEmpty else { return nil }
            // The app draws sealed messages, because only the app opens the envelope.
            block.style = .data
        case .alert:
            guard block.style == .data || block.shows || !notification.title.isEmpty || !notification.body.isEmpty
            else { throw .empty }
        case nil: return nil
        }
        let content = try AppData(notification, block)
        let android = AndroidConfig(notification, block, allowsHighPriority: allowsHighPriority, now: now)
        return try fitted(to: token) { writer, limits in
            var lengths = FittedPayload.Lengths()
            if block.style == .data {
                lengths = content.write(notification, to: &writer, within: limits)
            }
            android.write(notification, to: &writer, within: limits, &lengths)
            return lengths
        }
    }

    private static func fitted(
        to token: BorrowedText,
        _ writeContent: (inout JSONWriter, FittedPayload.Limits) -> FittedPayload.Lengths
    ) throws(MessageError) -> [UInt8] {
        let bytes = FittedPayload.fit(limit: limit) { limits in
            var writer = JSONWriter()
            writer.beginObject()
            writer.key("message")
            writer.beginObject()
            let lengths = writeContent(&writer, limits)
            let byteCount = writer.bytes.count
            writer.key("token")
            writer.beginArray()
            writer.string(token)
            writer.endArray()
            writer.endObject()
            writer.endObject()
            return FittedPayload.Attempt(writer.bytes, byteCount: byteCount, lengths: lengths)
        }
        guard let bytes else { throw .tooLarge }
        return bytes
    }
}

/// Why a notification cannot become a message. The raw value is the outcome's reason.
enum MessageError: String, Error {
    /// `data` or `sealed` is not a JSON object.
    case badData = "bad-data"
    /// The rule's block, or its `notification`, is not a JSON object.
    case badNative = "bad-native"
    /// There is nothing for Push Kit to show.
    case empty = "payload-empty"
    /// More than 4096 bytes even with the shortest texts.
    case tooLarge = "payload-too-large"
}

/// `data` of a message whose notification the app draws.
private struct AppData {
    private let block: HMSBlock
    private let data: JSONObject
    private let sealed: JSONObject

    init(_ notification: borrowing Notification, _ block: HMSBlock) throws(MessageError) {
        self.block = block
        do throws(JSONError) {
            let showsContent = notification.mode == .alert || notification.mode == .nudge
            data = showsContent ? try notification.data.jsonObject() : JSONObject()
            sealed = notification.mode == .sealed ? try notification.sealed.jsonObject() : JSONObject()
        } catch {
            throw .badData
        }
    }

    func write(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        var inner = JSONWriter()
        inner.beginObject()
        if notification.mode == .sealed {
            inner.key("sealed")
            inner.object(sealed)
        } else {
            writeSignal(notification, to: &inner)
            if notification.mode != .wake {
                lengths = writeTexts(notification, to: &inner, within: limits)
            }
        }
        inner.endObject()
        writer.key("data")
        writer.string(String(decoding: inner.bytes, as: UTF8.self))
        return lengths
    }

    private func writeSignal(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        if notification.count > 1 {
            if isOurs("t") {
                writer.key("t")
                writer.string("batch")
            }
            if isOurs("n") {
                writer.key("n")
                writer.integer(notification.count)
            }
        } else if isOurs("t") {
            writer.member("t", notification.signal)
        }
    }

    /// As text in text, what needs escapes takes more room than it counts for. So each text has a limit from the start,
    /// which keeps the first cut from being far too deep.
    private func writeTexts(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        if notification.mode == .alert, isOurs("id") { writer.member("id", notification.id) }
        let limit = HMSMessage.limit
        if isOurs("title") { lengths.title = writer.member("title", notification.title, limit: limits.title ?? limit) }
        if isOurs("subtitle") {
            lengths.subtitle = writer.member("subtitle", notification.subtitle, limit: limits.subtitle ?? limit)
        }
        if isOurs("body") { lengths.body = writer.member("body", notification.body, limit: limits.body ?? limit) }
        if isOurs("category") { writer.member("category", notification.category) }
        if isOurs("thread") { writer.member("thread", notification.thread) }
        if isOurs("url") { writer.member("url", notification.url) }
        if isOurs("actions"), notification.hasActions {
            writer.key("actions")
            writer.actions(of: notification)
        }
        lengths.referencedContent = writer.members(
            ofData: data,
            except: block.notification,
            referencedContent: limits.referencedContent ?? limit
        )
        writer.members(of: block.notification)
        return lengths
    }

    private func isOurs(_ name: StaticString) -> Bool {
        !data.contains(name) && !block.notification.contains(name)
    }
}
