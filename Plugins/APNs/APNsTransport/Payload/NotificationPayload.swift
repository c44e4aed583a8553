import PluginKit

/// The whole notification: `aps` with the texts and Apple's own keys, and beside it the category and the app's keys (seed
/// 000), and what taps and buttons open (seed 002).
///
/// Where two say the same key, what the operator wrote by hand wins: a member of the rule's block over one of `aps`, a
/// member of its `alert` over a text, a member of `data` over `category` and `body`. Two things the block cannot
/// change: buttons that the app makes itself come with `mutable-content: 1`, without which nobody would make them, and
/// a background push shows nothing. What says neither who nor what always has `mutable-content: 1`, for an extension
/// that finds out more.
struct NotificationPayload {
    /// What a payload says beside `aps`, `category` and `body`.
    private enum Form {
        /// The app's keys, and of several events how many they are.
        case whole
        /// What sort of thing happened, and how often.
        case nudge
        /// The envelope that an extension of the app opens.
        case sealed(JSONObject)
    }

    /// iOS shows no more buttons.
    static let actionLimit = 4

    private let form: Form
    private let type: PushType
    private let block: NativeBlock
    private let data: JSONObject
    private let members: JSONObject
    private let writesAlert: Bool
    private let writesButtons: Bool
    private let writesTaps: Bool

    /// The payload for a push of that type, in at most as many bytes as Apple takes.
    static func make(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        as type: PushType
    ) throws(PayloadMistake) -> [UInt8] {
        let payload = try NotificationPayload(notification, block, as: type)
        let bytes = FittedPayload.make(limit: type.payloadLimit) { writer, limits in
            payload.write(notification, to: &writer, within: limits)
        }
        guard let bytes else { throw .tooLarge }
        return bytes
    }

    private init(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        as type: PushType
    ) throws(PayloadMistake) {
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
        // Keys of what is shown mean nothing to an extension that shows nothing: they are for devices without one.
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

    /// The block's text where it has one, else ours. (What a Live Activity has as an object that names a key, an alert
    /// cannot show.)
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

    /// Keys of `aps` that depend on what else the payload has.
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
            // Without an alert there is nothing for an extension to change.
            writer.key("mutable-content")
            writer.value(mutableContent)
        }
    }

    /// What a tap and the buttons open (seed 002): both kinds of buttons may stand side by side, then the app takes those it
    /// knows how to make.
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
