package import CarillonABI

/// A notification that a test fills and passes over the ABI.
package struct SampleNotification {
    package struct Button {
        package var id: String
        package var label: String
        package var url = ""
        package var icon = ""

        package init(id: String, label: String, url: String = "", icon: String = "") {
            self.id = id
            self.label = label
            self.url = url
            self.icon = icon
        }
    }

    package var mode = carillon_mode.CARILLON_ALERT
    package var urgency = carillon_urgency.CARILLON_NORMAL
    package var count: UInt32 = 1
    package var id = "6c0f5f4e-9f4e-4c57-8c2e-0a1b2c3d4e5f"
    package var signal = "reaction"
    package var title = ""
    package var subtitle = ""
    package var body = ""
    package var category = ""
    package var thread = ""
    package var collapseKey = ""
    package var url = ""
    package var actions: [Button] = []
    package var data = ""
    package var native = ""
    package var expiresAt: UInt64 = 0
    package var sealed = ""
    /// Replaces `title` by bytes that are not UTF-8.
    package var titleBytes: [UInt8]?
    /// The struct's claimed size; nil: its full size.
    package var structSize: UInt32?

    package init() {}

    package static func wake(_ signal: String, count: UInt32 = 1) -> SampleNotification {
        var sample = SampleNotification()
        sample.mode = .CARILLON_WAKE
        sample.signal = signal
        sample.count = count
        return sample
    }

    package static func nudge(
        _ signal: String,
        title: String,
        body: String = "",
        count: UInt32 = 1
    ) -> SampleNotification {
        var sample = wake(signal, count: count)
        sample.mode = .CARILLON_NUDGE
        sample.title = title
        sample.body = body
        return sample
    }

    /// As the host encrypts it.
    package static func envelope(_ sealed: String, title: String, body: String = "") -> SampleNotification {
        var sample = alert(title: title, body: body)
        sample.mode = .CARILLON_SEALED
        sample.signal = ""
        sample.sealed = sealed
        return sample
    }

    package static func alert(title: String, body: String, native: String = "") -> SampleNotification {
        var sample = SampleNotification()
        sample.title = title
        sample.body = body
        sample.native = native
        return sample
    }

    /// Calls `use` with the struct; valid until it returns.
    package func withABI<Result>(_ use: (UnsafePointer<carillon_notification>) throws -> Result) rethrows -> Result {
        let arena = ABIArena()
        var notification = carillon_notification()
        notification.struct_size = structSize ?? UInt32(MemoryLayout<carillon_notification>.size)
        notification.mode = mode
        notification.urgency = urgency
        notification.count = count
        notification.id = arena.text(id)
        notification.signal = arena.text(signal)
        notification.title = titleBytes.map(arena.bytes) ?? arena.text(title)
        notification.subtitle = arena.text(subtitle)
        notification.body = arena.text(body)
        notification.category = arena.text(category)
        notification.thread = arena.text(thread)
        notification.collapse_key = arena.text(collapseKey)
        notification.url = arena.text(url)
        let buttons = actions.map { button in
            arena.array([
                carillon_action(
                    struct_size: UInt32(MemoryLayout<carillon_action>.size),
                    reserved: 0,
                    id: arena.text(button.id),
                    label: arena.text(button.label),
                    url: arena.text(button.url),
                    icon: arena.text(button.icon)
                )
            ])
        }
        notification.actions = arena.array(buttons)
        notification.action_count = buttons.count
        notification.data = arena.text(data)
        notification.native = arena.text(native)
        notification.expires_unix_ms = expiresAt
        notification.sealed = arena.text(sealed)
        return try withExtendedLifetime(arena) { try use(&notification) }
    }
}
