import Cipher
package import PluginKit

/// The message that an app reads after it wakes up: a JSON object.
///
/// A wake-up is `{"t":"dm"}`, for several events `{"t":"batch","n":7}`. A whole notification has, if set, `t`, `n`,
/// `id`, `title`, `subtitle`, `body`, `category`, `thread`, `url` and `actions` (a list of
/// `{"id","label","url"?,"icon"?}`), then the members of `data` and of the rule's block. If several have the same name,
/// the rule's block overrides `data`, and `data` overrides ours. A nudge has neutral texts and no `id`. A host's
/// envelope is `{"sealed":{…}}`.
package struct AppMessage {
    private let members: MessageMembers

    /// Returns the message in at most `limit` bytes.
    package static func make(
        _ notification: borrowing Notification,
        _ form: MessageForm,
        limit: Int
    ) throws(MessageError) -> [UInt8] {
        switch form {
        case .wake: return try wake(notification, limit: limit)
        case .envelope: return try envelope(notification, limit: limit)
        case .nudge, .sealed, .alert:
            let native = try notification.native.object(or: .badNative)
            let message = AppMessage(members: try MessageMembers(notification, native: native))
            return try message.fitted(notification, form, limit: limit)
        }
    }

    /// Returns the signal and the number of events.
    private static func wake(_ notification: borrowing Notification, limit: Int) throws(MessageError) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: 64)
        writer.beginObject()
        MessageMembers().writeSignal(notification, to: &writer)
        writer.endObject()
        guard writer.bytes.count <= limit else { throw .tooLarge }
        return writer.bytes
    }

    /// Returns the host's envelope: `{"sealed":{…}}`.
    package static func envelope(_ notification: borrowing Notification, limit: Int) throws(MessageError) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: notification.sealed.count + 16)
        writer.beginObject()
        writer.key("sealed")
        writer.object(try notification.sealed.object(or: .badEnvelope))
        writer.endObject()
        guard writer.bytes.count <= limit else { throw .tooLarge }
        return writer.bytes
    }

    private func fitted(
        _ notification: borrowing Notification,
        _ form: MessageForm,
        limit: Int
    ) throws(MessageError) -> [UInt8] {
        let bytes = FittedPayload.make(limit: limit) { writer, limits in
            write(notification, form, to: &writer, within: limits)
        }
        guard let bytes else { throw .tooLarge }
        return bytes
    }

    private func write(
        _ notification: borrowing Notification,
        _ form: MessageForm,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        writer.beginObject()
        members.writeSignal(notification, to: &writer)
        if form != .nudge {
            members.writeText("id", notification.id, to: &writer)
        }
        lengths.title = members.writeText("title", notification.title, to: &writer, limit: limits.title)
        lengths.subtitle = members.writeText("subtitle", notification.subtitle, to: &writer, limit: limits.subtitle)
        lengths.body = members.writeText("body", notification.body, to: &writer, limit: limits.body)
        members.writeText("category", notification.category, to: &writer)
        members.writeText("thread", notification.thread, to: &writer)
        members.writeText("url", notification.url, to: &writer)
        members.writeActions(notification, to: &writer)
        lengths.referencedContent = members.writeOthers(to: &writer, referencedContent: limits.referencedContent)
        writer.endObject()
        return lengths
    }
}

/// Writes the members of an app's message. If several have the same name, the rule's block overrides `data`, and `data`
/// overrides ours.
package struct MessageMembers {
    private let data: JSONObject
    private let native: JSONObject

    /// No members.
    package init() {
        data = JSONObject()
        native = JSONObject()
    }

    /// Reads `data` of the notification. `native` is the rule's block.
    package init(_ notification: borrowing Notification, native: JSONObject) throws(MessageError) {
        data = try notification.data.object(or: .badData)
        self.native = native
    }

    /// Writes `t`, the signal or `batch`, and for a batch `n`, the number of events.
    package func writeSignal(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        let isBatch = notification.count > 1
        if !isOverridden("t") {
            writer.key("t")
            if isBatch {
                writer.string("batch")
            } else {
                writer.string(notification.signal)
            }
        }
        if isBatch, !isOverridden("n") {
            writer.key("n")
            writer.integer(notification.count)
        }
    }

    /// Writes a text truncated to `limit` bytes of JSON, unless it is empty. Returns the number of bytes.
    @discardableResult
    package func writeText(
        _ name: StaticString,
        _ text: BorrowedText,
        to writer: inout JSONWriter,
        limit: Int? = nil
    ) -> Int {
        isOverridden(name) ? 0 : writer.member(name, text, limit: limit)
    }

    /// Writes the buttons, if any, as a list of `{"id","label","url"?,"icon"?}`.
    package func writeActions(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        guard notification.hasActions, !isOverridden("actions") else { return }
        writer.key("actions")
        writer.actions(of: notification)
    }

    /// Writes the members of `data` and of the rule's block, with `referenced_event_content` truncated to `limit`
    /// bytes. Returns the length of that text in bytes.
    package func writeOthers(to writer: inout JSONWriter, referencedContent limit: Int?) -> Int {
        let length = writer.members(ofData: data, except: native, referencedContent: limit)
        writer.members(of: native)
        return length
    }

    private func isOverridden(_ name: StaticString) -> Bool {
        data.contains(name) || native.contains(name)
    }
}

/// An error about a notification that cannot become a message. The raw value is the outcome's reason.
package enum MessageError: String, Error {
    /// `data` is not a JSON object.
    case badData = "bad-data"
    /// The rule's block is not a JSON object.
    case badNative = "bad-native"
    /// The host's envelope is not a JSON object.
    case badEnvelope = "bad-envelope"
    /// Too large for a push service even with the shortest texts.
    case tooLarge = "payload-too-large"
    /// libcrypto failed.
    case notEncrypted = "not-encrypted"
}

extension BorrowedText {
    /// Parses this text as a JSON object; an empty text has no members.
    package func object(or failure: MessageError) throws(MessageError) -> JSONObject {
        do throws(JSONError) {
            return try jsonObject()
        } catch {
            throw failure
        }
    }
}

/// How much of a notification a message contains.
package enum MessageForm: Sendable {
    /// Signal and count.
    case wake
    /// Signal, count and the neutral texts.
    case nudge
    /// The host's envelope, which is encrypted to the app already.
    case envelope
    /// Everything, in a body of constant size.
    case sealed
    /// Everything.
    case alert

    /// The longest message in bytes that every push service accepts (RFC 8030 section 7.2). ntfy silently truncates
    /// longer messages.
    private static let plainLimit = 4096

    /// The plaintext of sealed messages, in bytes: as large as the host's own envelopes, and small enough for the
    /// bridge to mobile browsers behind Mozilla's push service, which accepts bodies of about 2700 bytes.
    private static let sealedLimit = 2048

    /// The multiple to which encrypted messages are padded, in bytes: the length of a wake-up would reveal its signal.
    private static let step = 256

    /// Returns nil for an unknown mode, and for a sealed notification without keys.
    package init?(of notification: borrowing Notification, hasKeys: Bool) {
        switch notification.mode {
        case .wake: self = .wake
        case .nudge: self = .nudge
        case .sealed where !notification.sealed.isEmpty: self = .envelope
        case .sealed where hasKeys: self = .sealed
        case .alert: self = .alert
        case .sealed, nil: return nil
        }
    }

    /// Returns the longest message, in bytes.
    package func limit(isEncrypted: Bool) -> Int {
        switch self {
        case .sealed: Self.sealedLimit
        case .wake, .nudge, .envelope, .alert:
            isEncrypted ? WebPushEncryption.maximumPlaintextByteCount : Self.plainLimit
        }
    }

    /// Returns the body of a request: the message encrypted by RFC 8291.
    package func encrypt(_ message: [UInt8], to keys: WebPushKeys) throws(MessageError) -> [UInt8] {
        do {
            return try WebPushEncryption.encrypt(message, paddedTo: paddedSize(of: message.count), to: keys)
        } catch {
            throw .notEncrypted
        }
    }

    private func paddedSize(of count: Int) -> Int {
        switch self {
        case .sealed: Self.sealedLimit
        case .wake, .nudge, .envelope, .alert:
            max(count, min((count + Self.step - 1) / Self.step * Self.step, limit(isEncrypted: true)))
        }
    }
}
