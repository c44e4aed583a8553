extension HostileInput {
    /// Notifications with odd numbers, many buttons, and JSON that is none.
    static func parcels(of sample: Parcel) -> [(String, Parcel)] {
        let button = Parcel.Button(
            id: Array("app.reply".utf8),
            label: Array("Reply".utf8),
            url: Array("app://reply".utf8),
            icon: Array("arrow".utf8)
        )
        var all: [(String, Parcel)] = [
            ("a count of 0", sample.with { $0.count = 0 }),
            ("a count of 2^32 - 1", sample.with { $0.count = .max }),
            ("an urgency to come", sample.with { $0.urgency = 99 }),
            ("a negative urgency", sample.with { $0.urgency = -1 }),
            ("a negative mode", sample.with { $0.mode = .min }),
            ("what expired in 1970", sample.with { $0.expiresAt = 1 }),
            ("what never expires", sample.with { $0.expiresAt = .max }),
            ("what was never registered", sample.with { $0.registeredAt = 0 }),
            ("what is registered for ever", sample.with { $0.registeredAt = .max }),
            ("1,000 buttons", sample.with { $0.buttons = Array(repeating: button, count: 1000) }),
            ("nothing to say", sample.with { parcel in for (_, text) in Parcel.texts { parcel[keyPath: text] = [] } }),
        ]
        for (what, text) in configurations {
            all.append(("\(what) as data", sample.with { $0.data = text }))
            all.append(("\(what) as native", sample.with { $0.native = text }))
        }
        return all
    }
}
