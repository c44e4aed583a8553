import PluginKit

/// The payload of a whole notification: `aps` with the texts and Apple's own keys, and next to it the category, the
/// app's keys, and the targets of taps and buttons (contrib/docs/rules.md, "What an app receives").
///
/// If two sources have the same key, the rule wins: a member of its block over ours in `aps`, a member of its `alert`
/// over a text, a member of `data` over `category` and `body`. The block cannot change two things: buttons made by the
/// app need `mutable-content: 1`, and a background push shows nothing. A nudge or sealed payload always has
/// `mutable-content: 1`, for an app extension that fetches more.
struct NotificationPayload {
    /// The content in addition to `aps`, `category` and `body`.
    private enum Form {
        /// The app's keys, and the number of events of a batch.
        case whole
        /// The signal and the number of events.
        case nudge
        /// The envelope, which an app extension decrypts.
        case sealed(JSONObject)
    }

    /// The maximum number of buttons that iOS shows.
    static let actionLimit = 4

    private let form: Form
    private let type: PushType
    private let block: NativeBlock
    private let data: JSONObject
    private let members: JSONObject
    private let writesAlert: Bool
    private let writesButtons: Bool
    private let writesTaps: Bool

    /// Returns the payload for a push of a type, within Apple's size limit.
    static func make(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        as type: PushType
    ) throws(PayloadError) -> [UInt8] {
        let payload = try NotificationPayload(notification, block, as: type)
        let bytes = FittedPayload.make(limit: type.payloadLimit) { writer, limits in
            payload.write(notification, to: &writer, within: limits)
        }
        guard let bytes else { throw .tooLarge }
        return bytes
    }

    private init(_ notification: borrowing Notification, _ block: NativeBlock, as type: PushType) throws(PayloadError) {
        guard var data = try? notification.data.jsonObject() else { throw .badData }
        guard !data.contains("aps") else { throw .dataHasAPS }
        switch notification.mode {
        case .nudge: form = .nudge
        case .sealed:
            guard let envelope = try? notification.sealed.jsonObject() else { throw .badSealed }
            form = .sealed(envelope)
            data = data.removing(["sealed"])
        default: form = .whole
        }
        self.type = type
        self.block = block
        self.data = data
        writesAlert = type.carriesTexts && (notification.hasText || block.alert.isVisible)
        // A silent extension has no use for keys of an alert: they are for devices without the extension.
        members = type.carriesTexts || type == .background ? block.members : JSONObject()
        guard type != .alert || writesAlert || block.hasSoundOrBadge else { throw .empty }
        writesButtons = type == .alert && writesAlert && notification.hasActions
        writesTaps =
            (type.carriesTexts || type == .background)
            && (writesButtons || !notification.url.isEmpty || block.opensSomething) && !data.contains("body")
    }

    private func write(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        writer.beginObject()
        writer.key("aps")
        writer.beginObject()
        if writesAlert {
            writeAlert(notification, to: &writer, within: limits, &lengths)
        }
        writeSystemKeys(notification, to: &writer)
        writer.members(of: members)
        writer.endObject()
        writeSignal(notification, to: &writer)
        if !notification.category.isEmpty, !data.contains("category") {
            writer.member("category", notification.category)
        }
        if writesTaps {
            writeTaps(notification, to: &writer)
        }
        lengths.referencedContent = writer.members(ofData: data, referencedContent: limits.referencedContent)
        writer.endObject()
        return lengths
    }

    private var isNeutral: Bool {
        if case .whole = form { return false }
        return true
    }

    private func writeSignal(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        switch form {
        case .whole: if notification.count > 1 { writer.signal(of: notification, unlessIn: data) }
        case .nudge: writer.signal(of: notification, unlessIn: data)
        case .sealed(let envelope):
            writer.key("sealed")
            writer.object(envelope)
        }
    }

    private func writeAlert(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits,
        _ lengths: inout FittedPayload.Lengths
    ) {
        let alert = block.alert
        if let text = alert.text {
            lengths.body = writer.member("alert", text, limit: limits.body)
            return
        }
        writer.key("alert")
        writer.beginObject()
        lengths.title = NotificationPayload.write(
            "title",
            alert.localizesTitle ? nil : notification.title,
            or: alert.title,
            to: &writer,
            limit: limits.title
        )
        lengths.subtitle = NotificationPayload.write(
            "subtitle",
            alert.localizesSubtitle ? nil : notification.subtitle,
            or: alert.subtitle,
            to: &writer,
            limit: limits.subtitle
        )
        lengths.body = NotificationPayload.write(
            "body",
            alert.localizesBody ? nil : notification.body,
            or: alert.body,
            to: &writer,
            limit: limits.body
        )
        writer.members(of: alert.members)
        writer.endObject()
    }

    /// Writes the block's text if it has one, otherwise ours. An object that names a key is for Live Activities only,
    /// because an alert cannot show it.
    private static func write(
        _ name: StaticString,
        _ ours: BorrowedText?,
        or theirs: JSONValue?,
        to writer: inout JSONWriter,
        limit: Int?
    ) -> Int {
        if let theirs, theirs.isString {
            return writer.member(name, theirs, limit: limit)
        }
        return ours.map { writer.member(name, $0, limit: limit) } ?? 0
    }

    /// Writes keys of `aps` that depend on the rest of the payload.
    private func writeSystemKeys(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        if type == .background, !block.isContentAvailable {
            writer.key("content-available")
            writer.integer(1)
        }
        if let sound = block.alert.sound, type.carriesTexts, !members.contains("sound") {
            writer.key("sound")
            writer.value(sound)
        }
        guard type == .alert else { return }
        if !members.contains("thread-id") {
            writer.member("thread-id", notification.thread)
        }
        if writesButtons || isNeutral {
            writer.key("mutable-content")
            writer.integer(1)
        } else if let mutableContent = block.mutableContent, writesAlert {
            // Without an alert, an extension has nothing to change.
            writer.key("mutable-content")
            writer.value(mutableContent)
        }
    }

    /// Writes the targets of a tap and of the buttons. Both kinds of buttons may be present; the app uses those it
    /// supports.
    private func writeTaps(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        writer.key("body")
        writer.beginObject()
        writer.key("_k")
        if let notificationID = block.notificationID {
            writer.value(notificationID)
        } else {
            writer.string(notification.id)
        }
        writer.member("url", notification.url)
        if writesButtons {
            writer.key("action_buttons")
            writer.actions(of: notification, limit: NotificationPayload.actionLimit)
        }
        if let actions = block.actions {
            writer.key("actions")
            writer.value(actions)
        }
        writer.endObject()
    }
}

/// An error about a notification that cannot become a payload. The raw value is the outcome's reason.
enum PayloadError: String, Error {
    /// `data` is not a JSON object.
    case badData = "bad-data"
    /// `data` has a member `aps`, which is reserved for Apple.
    case dataHasAPS = "data-has-aps"
    /// The rule's block is not a JSON object, or Apple would refuse it.
    case badNative = "bad-native"
    /// `sealed` is not a JSON object.
    case badSealed = "bad-sealed"
    /// There is nothing to show.
    case empty = "payload-empty"
    /// The payload is too large for Apple even with the shortest texts. The host then retries with a stricter mode.
    case tooLarge = "payload-too-large"
}
