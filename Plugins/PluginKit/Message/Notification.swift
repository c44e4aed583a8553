package import CarillonABI
import Core

/// A notification, independent of the platform; borrowed for the duration of a call. Unset texts are empty. Example:
/// `guard notification.mode == .alert else { return .unsupported }`.
public struct Notification: ~Copyable {
    private let abi: carillon_notification

    package init(_ pointer: UnsafePointer<carillon_notification>) {
        abi = carillon_notification.adopt(pointer)
    }

    /// How much the push service may see; nil: a mode that this plugin does not know, and so cannot honor.
    public var mode: Mode? {
        switch abi.mode {
        case .CARILLON_WAKE: .wake
        case .CARILLON_NUDGE: .nudge
        case .CARILLON_SEALED: .sealed
        case .CARILLON_ALERT: .alert
        @unknown default: nil
        }
    }

    /// The urgency; unknown values are normal.
    public var urgency: Urgency {
        switch abi.urgency {
        case .CARILLON_LOW: .low
        case .CARILLON_NORMAL: .normal
        case .CARILLON_HIGH: .high
        @unknown default: .normal
        }
    }

    /// The number of events; more than 1: a batch.
    public var count: UInt32 { abi.count }
    /// A UUID in lower case, the same on every attempt.
    public var id: BorrowedText { BorrowedText(abi.id) }
    /// `dm`, `mention`, …
    public var signal: BorrowedText { BorrowedText(abi.signal) }
    /// The first line, or empty. Like all texts here it is valid only during the call.
    public var title: BorrowedText { BorrowedText(abi.title) }
    /// The second line, or empty.
    public var subtitle: BorrowedText { BorrowedText(abi.subtitle) }
    /// The text, or empty.
    public var body: BorrowedText { BorrowedText(abi.body) }
    /// The key by which the app selects buttons (`UNNotificationCategory`, a channel), or empty.
    public var category: BorrowedText { BorrowedText(abi.category) }
    /// The key by which a device groups notifications, or empty.
    public var thread: BorrowedText { BorrowedText(abi.thread) }
    /// The key by which a notification replaces an earlier one, or empty.
    public var collapseKey: BorrowedText { BorrowedText(abi.collapse_key) }
    /// The URL that a tap opens, for example `nostr:…`, or empty.
    public var url: BorrowedText { BorrowedText(abi.url) }
    /// A JSON object with custom keys for the app.
    public var data: BorrowedText { BorrowedText(abi.data) }
    /// A JSON object: this platform's block of the rule, merged last.
    public var native: BorrowedText { BorrowedText(abi.native) }
    /// When the push service should drop the message; nil: the transport's default.
    public var expiresAt: Timestamp? {
        abi.expires_unix_ms == 0 ? nil : Timestamp(milliseconds: Int64(clamping: abi.expires_unix_ms))
    }

    /// A JSON object: the whole notification, encrypted by the host to the device, to be sent unchanged. Empty in all
    /// modes except ``Mode/sealed``, and empty there if the transport must encrypt.
    public var sealed: BorrowedText { BorrowedText(abi.sealed) }

    /// Whether there is a button to show.
    public var hasActions: Bool {
        var isAny = false
        forEachAction(limit: 1) { _ in isAny = true }
        return isAny
    }

    /// Returns the first `limit` buttons as a JSON array in a string, for services whose values are strings; nil if
    /// there are none.
    public func actionsJSON(limit: Int = .max) -> String? {
        guard hasActions else { return nil }
        var writer = JSONWriter(reservingBytes: 256)
        writer.actions(of: self, limit: limit)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// All its fields that are not texts.
    var numbers: (Int32, Int32, UInt32, UInt32, UInt64, Int) {
        (abi.mode.rawValue, abi.urgency.rawValue, abi.count, 0, abi.expires_unix_ms, abi.action_count)
    }

    /// Calls `body` with each text except the id, including the texts of buttons.
    func forEachText(_ body: (BorrowedText) -> Void) {
        body(signal)
        body(title)
        body(subtitle)
        body(self.body)
        body(category)
        body(thread)
        body(collapseKey)
        body(url)
        body(data)
        body(native)
        body(sealed)
        guard abi.action_count > 0, let actions = abi.actions else { return }
        for case let pointer? in UnsafeBufferPointer(start: actions, count: abi.action_count) {
            let action = Action(pointer)
            body(action.id)
            body(action.label)
            body(action.url)
            body(action.icon)
        }
    }

    /// Calls `body` with each of the first `limit` buttons. Buttons without an id or a label are skipped, because they
    /// cannot be shown.
    public func forEachAction(limit: Int = .max, _ body: (Action) -> Void) {
        guard let actions = abi.actions else { return }
        var left = limit
        for case let pointer? in UnsafeBufferPointer(start: actions, count: abi.action_count) where left > 0 {
            let action = Action(pointer)
            guard !action.id.isEmpty, !action.label.isEmpty else { continue }
            left -= 1
            body(action)
        }
    }
}

/// How much of an event the push service may see.
public enum Mode: Sendable {
    /// Only that something happened: signal and count.
    case wake
    /// A neutral visible text, without sender or content.
    case nudge
    /// Everything, encrypted to the device.
    case sealed
    /// Everything, readable by the push service.
    case alert
}

/// How urgently a device should be notified.
public enum Urgency: Sendable {
    case low
    case normal
    case high
}

/// A button of a notification; borrowed for the duration of a call.
public struct Action {
    private let abi: carillon_action

    init(_ pointer: UnsafePointer<carillon_action>) {
        abi = carillon_action.adopt(pointer)
    }

    /// The identifier that the app receives on a tap.
    public var id: BorrowedText { BorrowedText(abi.id) }
    /// The button's text, in the device's language; valid as long as the notification.
    public var label: BorrowedText { BorrowedText(abi.label) }
    /// The URL that the button opens. Empty: the notification's URL.
    public var url: BorrowedText { BorrowedText(abi.url) }
    /// The name of an SF Symbol, or empty.
    public var icon: BorrowedText { BorrowedText(abi.icon) }
}

extension JSONWriter {
    /// Writes a button as an object with `id`, `label` and, if set, `url` and `icon`.
    public mutating func action(_ action: Action) {
        beginObject()
        key("id")
        string(action.id)
        key("label")
        string(action.label)
        if !action.url.isEmpty {
            key("url")
            string(action.url)
        }
        if !action.icon.isEmpty {
            key("icon")
            string(action.icon)
        }
        endObject()
    }

    /// Writes the first `limit` buttons of a notification as an array, which may be empty.
    public mutating func actions(of notification: borrowing Notification, limit: Int = .max) {
        beginArray()
        notification.forEachAction(limit: limit) { action($0) }
        endArray()
    }
}
