import CarillonABI
import Notifications
import PluginProtocol
import Units

extension Notification {
    /// Lends the notification and where it goes for the time of `body`, in one block of memory.
    func lend<Result>(
        id: DeliveryID,
        to address: DeviceAddress,
        _ body: (UnsafePointer<carillon_registration>, UnsafePointer<carillon_notification>) -> Result
    ) -> Result {
        form.lendWhole(id: id, to: address, body)
    }

    /// Lends the notification to a filter for the time of `body`: it goes nowhere yet, so it has neither id nor native
    /// block.
    func lendToFilter<Result>(_ body: (UnsafePointer<carillon_notification>) -> Result) -> Result {
        let form =
            switch mode {
            case .wake: wakeUp
            case .nudge: nudge
            case .sealed, .alert: self
            }
        let (structBytes, textBytes) = (form.lentStructBytes, form.lentTextBytes)
        return withUnsafeTemporaryAllocation(byteCount: structBytes + textBytes, alignment: 8) { block in
            var memory = LentMemory(block, structBytes: structBytes, textBytes: textBytes)
            return withUnsafePointer(to: form.lent(id: nil, native: "", in: &memory)) { body($0) }
        }
    }

    private func lendWhole<Result>(
        id: DeliveryID,
        to address: DeviceAddress,
        _ body: (UnsafePointer<carillon_registration>, UnsafePointer<carillon_notification>) -> Result
    ) -> Result {
        let native = native[address.platform] ?? ""
        let structBytes = address.lentStructBytes + lentStructBytes
        let textBytes = address.lentTextBytes + lentTextBytes + DeliveryID.textLength + native.utf8.count
        return withUnsafeTemporaryAllocation(byteCount: structBytes + textBytes, alignment: 8) { block in
            var memory = LentMemory(block, structBytes: structBytes, textBytes: textBytes)
            let registration = address.registration(in: &memory)
            let notification = lent(id: id, native: native, in: &memory)
            return withUnsafePointer(to: registration) { registration in
                withUnsafePointer(to: notification) { body(registration, $0) }
            }
        }
    }

    /// What of it the plugin gets, by its mode.
    var form: Notification {
        switch mode {
        case .wake: wakeUp
        case .nudge: nudge
        case .sealed where !sealed.isEmpty: envelope
        case .sealed, .alert: self
        }
    }

    /// What a wake-up may carry. The rules leave the rest empty already; this is the last check before the plugin.
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

    var lentStructBytes: Int {
        actions.count * (MemoryLayout<carillon_action>.stride + MemoryLayout<UnsafePointer<carillon_action>?>.stride)
    }

    var lentTextBytes: Int {
        actions.reduce(textBytes) {
            $0 + $1.id.utf8.count + $1.label.utf8.count + $1.url.utf8.count + $1.icon.utf8.count
        }
    }

    func lent(id: DeliveryID?, native: String, in memory: inout LentMemory) -> carillon_notification {
        var lent = carillon_notification()
        lent.struct_size = UInt32(MemoryLayout<carillon_notification>.size)
        lent.mode = carillon_mode(rawValue: mode.rawValue) ?? .CARILLON_WAKE
        lent.urgency = carillon_urgency(rawValue: urgency.rawValue) ?? .CARILLON_NORMAL
        lent.count = count
        lent.id = id.map { memory.text($0) } ?? carillon_str(ptr: nil, len: 0)
        lent.signal = memory.text(signal.rawValue)
        lent.title = memory.text(title)
        lent.subtitle = memory.text(subtitle)
        lent.body = memory.text(body)
        lent.category = memory.text(category)
        lent.thread = memory.text(thread)
        lent.collapse_key = memory.text(collapseKey)
        lent.url = memory.text(url)
        lent.actions = lentActions(in: &memory)
        lent.action_count = actions.count
        lent.data = memory.text(data)
        lent.native = memory.text(native)
        lent.expires_unix_ms = UInt64(clamping: expiresAt.milliseconds)
        lent.sealed = memory.text(sealed)
        return lent
    }

    private func lentActions(in memory: inout LentMemory) -> UnsafePointer<UnsafePointer<carillon_action>?>? {
        guard !actions.isEmpty else { return nil }
        let structs = memory.array(of: carillon_action.self, count: actions.count)
        let pointers = memory.array(of: UnsafePointer<carillon_action>?.self, count: actions.count)
        for (index, action) in actions.enumerated() {
            let lent = carillon_action(
                struct_size: UInt32(MemoryLayout<carillon_action>.size),
                reserved: 0,
                id: memory.text(action.id),
                label: memory.text(action.label),
                url: memory.text(action.url),
                icon: memory.text(action.icon)
            )
            structs.initializeElement(at: index, to: lent)
            pointers.initializeElement(at: index, to: structs.baseAddress.map { UnsafePointer($0 + index) })
        }
        return UnsafePointer(pointers.baseAddress)
    }
}

extension [DeliveryOrder] {
    /// Lends them as `deliver_many` takes them for the time of `body`, in one block of memory.
    func lend<Result>(
        _ tickets: [UInt64],
        _ body: (UnsafePointer<UnsafePointer<carillon_delivery>?>?, Int) -> Result
    ) -> Result {
        let forms = map(\.notification.form)
        let natives = zip(self, forms).map { $1.native[$0.address.platform] ?? "" }
        let structBytes = zip(self, forms).reduce(0) { $0 + $1.0.address.lentStructBytes + $1.1.lentStructBytes }
        let textBytes = zip(zip(self, forms), natives).reduce(0) { bytes, parts in
            let ((order, form), native) = parts
            return bytes + order.address.lentTextBytes + form.lentTextBytes + DeliveryID.textLength + native.utf8.count
        }
        return withUnsafeTemporaryAllocation(byteCount: structBytes + textBytes, alignment: 8) { block in
            var memory = LentMemory(block, structBytes: structBytes, textBytes: textBytes)
            let registrations = map { $0.address.registration(in: &memory) }
            let notifications = indices.map {
                forms[$0].lent(id: self[$0].id, native: natives[$0], in: &memory)
            }
            return LentDeliveries.lend(tickets, registrations, notifications) { LentDeliveries.hand($0, body) }
        }
    }
}

extension DeviceAddress {
    var lentStructBytes: Int { fields.count * MemoryLayout<carillon_field>.stride }

    var lentTextBytes: Int {
        fields.reduce(token.utf8.count) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }

    /// The registration as the ABI says it, in `memory`.
    func registration(in memory: inout LentMemory) -> carillon_registration {
        let array = memory.array(of: carillon_field.self, count: fields.count)
        for (index, field) in fields.enumerated() {
            let name = memory.text(field.key)
            array.initializeElement(at: index, to: carillon_field(name: name, value: memory.text(field.value)))
        }
        return carillon_registration(
            struct_size: UInt32(MemoryLayout<carillon_registration>.size),
            reserved: 0,
            token: memory.text(token),
            fields: fields.isEmpty ? nil : UnsafePointer(array.baseAddress),
            field_count: fields.count,
            registered_unix_ms: UInt64(clamping: registeredAt.milliseconds)
        )
    }

    /// Lends the registration for the time of `body`.
    func lend<Result>(_ body: (UnsafePointer<carillon_registration>) -> Result) -> Result {
        let structBytes = lentStructBytes
        let textBytes = lentTextBytes
        return withUnsafeTemporaryAllocation(byteCount: structBytes + textBytes, alignment: 8) { block in
            var memory = LentMemory(block, structBytes: structBytes, textBytes: textBytes)
            return withUnsafePointer(to: registration(in: &memory), body)
        }
    }
}
