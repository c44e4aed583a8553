package import CarillonABI
import Core

/// What to say, in no platform's words; borrowed for the duration of a call. A text that is not set is empty.
public struct Notification: ~Copyable {
    private let abi: carillon_notification

    package init(_ pointer: UnsafePointer<carillon_notification>) {
        abi = carillon_notification.adopt(pointer)
    }

    /// How much the push service may see; nil: a mode newer than this plugin, which it cannot honour.
    public var mode: Mode? {
        switch abi.mode {
        case .CARILLON_WAKE: .wake
        case .CARILLON_NUDGE: .nudge
        case .CARILLON_SEALED: .sealed
        case .CARILLON_ALERT: .alert
        @unknown default: nil
        }
    }

    /// How soon the device should be bothered; an unknown value is normal.
    public var urgency: Urgency {
        switch abi.urgency {
        case .CARILLON_LOW: .low
        case .CARILLON_NORMAL: .normal
        case .CARILLON_HIGH: .high
        @unknown default: .normal
        }
    }

    /// Events this one stands for; more than 1: a batch.
    public var count: UInt32 { abi.count }
    /// A UUID in lower case, the same on every attempt.
    public var id: BorrowedText { BorrowedText(abi.id) }
    /// `dm`, `mention`, …
    public var signal: BorrowedText { BorrowedText(abi.signal) }
    /// The first line; empty for none. Like all texts here it is valid within the call only.
    public var title: BorrowedText { BorrowedText(abi.title) }
    /// The second line; empty for none.
    public var subtitle: BorrowedText { BorrowedText(abi.subtitle) }
    /// The text; empty for none.
    public var body: BorrowedText { BorrowedText(abi.body) }
    /// What the app picks its buttons by (`UNNotificationCategory`, a channel); empty for none.
    public var category: BorrowedText { BorrowedText(abi.category) }
    /// What belongs together on the screen; empty for none.
    public var thread: BorrowedText { BorrowedText(abi.thread) }
    /// What replaces an earlier notification of the same key; empty for none.
    public var collapseKey: BorrowedText { BorrowedText(abi.collapse_key) }
    /// Where a tap leads, for example `nostr:…`; empty for nowhere.
    public var url: BorrowedText { BorrowedText(abi.url) }
    /// A JSON object: custom keys for the app.
    public var data: BorrowedText { BorrowedText(abi.data) }
    /// A JSON object: this platform's block of the rule, merged last.
    public var native: BorrowedText { BorrowedText(abi.native) }
    /// When the push service should give up; nil: the transport's default.
    public var expiresAt: Timestamp? {
        abi.expires_unix_ms == 0 ? nil : Timestamp(milliseconds: Int64(clamping: abi.expires_unix_ms))
    }

    /// A JSON object: the whole notification as the host encrypted it to the device, to be passed on as it is. Empty in
    /// all modes but ``Mode/sealed``; empty there too when the transport is to encrypt.
    public var sealed: BorrowedText { BorrowedText(abi.sealed) }

    /// Whether there is a button to show.
    public var hasActions: Bool {
        var isAny = false
        forEachAction(limit: 1) { _ in isAny = true }
        return isAny
    }

    /// The first `limit` buttons as the text of a JSON array, for services whose values are texts; nil when there is
    /// none.
    public func actionsJSON(limit: Int = .max) -> String? {
        guard hasActions else { return nil }
        var writer = JSONWriter(reservingBytes: 256)
        writer.actions(of: self, limit: limit)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// What it has besides texts.
    var numbers: (Int32, Int32, UInt32, UInt32, UInt64, Int) {
        (abi.mode.rawValue, abi.urgency.rawValue, abi.count, 0, abi.expires_unix_ms, abi.action_count)
    }

    /// Calls `body` with each of its texts but the id, those of its buttons too.
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

    /// Calls `body` with each of the first `limit` buttons in turn. One without an id or a label could not be shown,
    /// and counts as absent.
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
    /// That something happened: signal and count.
    case wake
    /// A neutral visible text, without sender or content.
    case nudge
    /// Everything, encrypted to the device.
    case sealed
    /// Everything, readable.
    case alert
}

/// How soon a device should be bothered.
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

    /// What the app learns when it is tapped.
    public var id: BorrowedText { BorrowedText(abi.id) }
    /// The button's text, in the device's language; valid as long as the notification.
    public var label: BorrowedText { BorrowedText(abi.label) }
    /// What opens; empty: the notification's own.
    public var url: BorrowedText { BorrowedText(abi.url) }
    /// An SF Symbol name; empty: none.
    public var icon: BorrowedText { BorrowedText(abi.icon) }
}

extension JSONWriter {
    /// A button as an object of `id`, `label` and, where they are set, `url` and `icon`.
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

    /// The first `limit` buttons of a notification as an array; an empty one where it has none to show.
    public mutating func actions(of notification: borrowing Notification, limit: Int = .max) {
        beginArray()
        notification.forEachAction(limit: limit) { action($0) }
        endArray()
    }
}
