import CarillonABI
import Core
import PluginProtocol
import Push

extension Notification {
    /// Writes the registration of `address`, and the part of the notification that the plugin gets, with the message id
    /// `id`.
    func write(id: DeliveryID, to address: DeviceAddress, in writer: inout FrameWriter) {
        address.write(to: &writer)
        let form = form
        form.writeWhole(id: id, native: form.native[address.platform] ?? "", to: &writer)
    }

    /// Writes the notification for a filter, without id and native block because it has no destination yet.
    func writeForFilter(to writer: inout FrameWriter) {
        let form =
            switch mode {
            case .wake: wakeUp
            case .nudge: nudge
            case .sealed, .alert: self
            }
        form.writeWhole(id: nil, native: "", to: &writer)
    }

    /// The part that the plugin gets, by mode.
    private var form: Notification {
        switch mode {
        case .wake: wakeUp
        case .nudge: nudge
        case .sealed where !sealed.isEmpty: envelope
        case .sealed, .alert: self
        }
    }

    /// The part that a wake-up may carry. The rules already leave the rest empty; this is the last check before the
    /// plugin.
    private var wakeUp: Notification {
        Notification(
            mode: .wake,
            signal: signal,
            urgency: urgency,
            count: count,
            native: neutralPresentation.native,
            expiresAt: expiresAt
        )
    }

    private var nudge: Notification {
        Notification(
            mode: .nudge,
            signal: signal,
            urgency: urgency,
            count: count,
            title: neutral.title,
            subtitle: neutralPresentation.subtitle,
            body: neutral.body,
            category: neutralPresentation.category,
            thread: neutralPresentation.thread,
            collapseKey: neutralPresentation.collapseKey,
            url: neutralPresentation.url,
            actions: neutralPresentation.actions,
            data: neutralPresentation.data,
            native: neutralPresentation.native,
            expiresAt: expiresAt
        )
    }

    private var envelope: Notification {
        var notification = nudge
        notification.mode = .sealed
        notification.signal = Signal(rawValue: "")
        notification.count = 1
        notification.sealed = sealed
        return notification
    }

    private func writeWhole(id: DeliveryID?, native: String, to writer: inout FrameWriter) {
        writer.number(UInt32(bitPattern: mode.rawValue))
        writer.number(UInt32(bitPattern: urgency.rawValue))
        writer.number(count)
        writer.number(UInt64(clamping: expiresAt.milliseconds))
        if let id {
            writer.bytes(count: DeliveryID.textLength) { id.write(to: $0) }
        } else {
            writer.text("")
        }
        writer.text(signal.rawValue)
        writer.text(title)
        writer.text(subtitle)
        writer.text(body)
        writer.text(category)
        writer.text(thread)
        writer.text(collapseKey)
        writer.text(url)
        writer.text(data)
        writer.text(native)
        writer.text(sealed)
        writer.number(UInt32(clamping: actions.count))
        for action in actions {
            writer.text(action.id)
            writer.text(action.label)
            writer.text(action.url)
            writer.text(action.icon)
        }
    }
}

extension DeviceAddress {
    func write(to writer: inout FrameWriter) {
        writer.text(token)
        writer.number(UInt64(clamping: registeredAt.milliseconds))
        writer.number(UInt32(clamping: fields.count))
        for field in fields {
            writer.text(field.key)
            writer.text(field.value)
        }
    }
}

extension Outcome {
    private static var reasonLimit: Int { 40 }

    /// Returns a copy of a plugin's outcome, and whether it is well-formed. A malformed one counts as a retry.
    static func reading(_ foreign: carillon_outcome) -> (outcome: Outcome, isWellFormed: Bool) {
        guard let kind = Outcome.Kind(rawValue: foreign.kind.rawValue) else {
            return (Outcome(.retry, reason: "misbehaved"), false)
        }
        let outcome = Outcome(
            kind,
            status: foreign.provider_status <= 999 ? foreign.provider_status : 0,
            retryAfter: kind == .retry ? .milliseconds(foreign.retry_after_ms) : .zero,
            reason: reason(foreign.reason) ?? kind.word,
            scope: kind == .retry ? Scope(rawValue: foreign.scope.rawValue) ?? .usual : .usual
        )
        return (outcome, true)
    }

    /// Returns a word fit for a metric's label; nil if the plugin gave none.
    private static func reason(_ text: carillon_str) -> String? {
        guard text.len != 0 else { return nil }
        guard (1...reasonLimit).contains(text.len), let start = text.ptr else { return "other" }
        let bytes = UnsafeRawBufferPointer(start: start, count: text.len)
        guard bytes.allSatisfy({ PluginText.isWordByte($0) }) else { return "other" }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Outcome.Kind {
    fileprivate var word: String {
        switch self {
        case .delivered: "delivered"
        case .gone: "gone"
        case .rejected: "rejected"
        case .retry: "retry"
        case .misconfigured: "misconfigured"
        }
    }
}
