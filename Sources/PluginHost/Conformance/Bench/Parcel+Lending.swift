import CarillonABI

extension Parcel {
    func registration(in arena: Arena) -> UnsafePointer<carillon_registration>? {
        let fields = fields.map { carillon_field(name: arena.text($0.name), value: arena.text($0.value)) }
        return arena.lend(
            carillon_registration(
                struct_size: 0,
                reserved: 0,
                token: arena.text(token),
                fields: arena.array(fields),
                field_count: fields.count,
                registered_unix_ms: registeredAt
            )
        )
    }

    func notification(in arena: Arena) -> UnsafePointer<carillon_notification>? {
        var lent = carillon_notification()
        // Imported as open enums: every number is a value.
        lent.mode = carillon_mode(rawValue: mode) ?? .CARILLON_ALERT
        lent.urgency = carillon_urgency(rawValue: urgency) ?? .CARILLON_NORMAL
        lent.count = count
        lent.id = arena.text(id)
        lent.signal = arena.text(signal)
        lent.title = arena.text(title)
        lent.subtitle = arena.text(subtitle)
        lent.body = arena.text(body)
        lent.category = arena.text(category)
        lent.thread = arena.text(thread)
        lent.collapse_key = arena.text(collapseKey)
        lent.url = arena.text(url)
        lent.actions = arena.array(buttons.map { arena.lend(action(of: $0, in: arena)) })
        lent.action_count = buttons.count
        lent.data = arena.text(data)
        lent.native = arena.text(native)
        lent.expires_unix_ms = expiresAt
        return arena.lend(lent)
    }

    private func action(of button: Button, in arena: Arena) -> carillon_action {
        carillon_action(
            struct_size: 0,
            reserved: 0,
            id: arena.text(button.id),
            label: arena.text(button.label),
            url: arena.text(button.url),
            icon: arena.text(button.icon)
        )
    }
}
