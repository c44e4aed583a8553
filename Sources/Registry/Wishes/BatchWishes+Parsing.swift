extension BatchWishes {
    /// The `batch` object of a registration; empty when there is none.
    init(_ registration: FieldReader) throws(RegistrationRefusal) {
        self.init()
        guard let reader = try registration.reader("batch") else { return }
        windowSeconds = try reader.integer("window_seconds", in: 0...RegistrationLimits.seconds)
        cooldownSeconds = try reader.integer("cooldown_seconds", in: 0...RegistrationLimits.seconds)
        dailyCap = try reader.integer("daily_cap", in: 1...RegistrationLimits.dailyCap)
    }
}
