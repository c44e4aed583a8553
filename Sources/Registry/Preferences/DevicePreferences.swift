import Core
import JSON
import Nostr

/// The preferences of a device in addition to its ``DeviceEntry``. Most devices have none.
package struct DevicePreferences: Hashable, Sendable {
    package var pace: PacePreferences
    package var filters: FilterSwitches

    package init(pace: PacePreferences = PacePreferences(), filters: FilterSwitches = FilterSwitches()) {
        self.pace = pace
        self.filters = filters
    }

    package var isEmpty: Bool { self == DevicePreferences() }
}

/// When and how often a device wants to be notified (contrib/docs/pacing.md).
package struct PacePreferences: Hashable, Sendable {
    /// Nil: alerts at any time.
    package var quiet: QuietHours?
    package var batch: BatchPreferences

    package init(quiet: QuietHours? = nil, batch: BatchPreferences = BatchPreferences()) {
        self.quiet = quiet
        self.batch = batch
    }
}

/// A device's preferences for batching its pushes (contrib/docs/pacing.md); nil is the operator's default.
package struct BatchPreferences: Hashable, Sendable {
    // A million devices may have such preferences; times are in seconds.
    private var storedWindow: Int32 = -1
    private var storedCooldown: Int32 = -1
    private var storedCap: Int32 = -1

    package init(window: Duration? = nil, cooldown: Duration? = nil, dailyCap: Int? = nil) {
        self.window = window
        self.cooldown = cooldown
        self.dailyCap = dailyCap
    }

    /// In whole seconds, from 0 (off) to a day.
    package var window: Duration? {
        get { windowSeconds.map { .seconds($0) } }
        set { windowSeconds = newValue.map { Int($0.seconds) } }
    }

    /// In whole seconds, from 0 (off) to a day.
    package var cooldown: Duration? {
        get { cooldownSeconds.map { .seconds($0) } }
        set { cooldownSeconds = newValue.map { Int($0.seconds) } }
    }

    /// The maximum number of pushes per UTC day, from 1 to 1,000,000.
    package var dailyCap: Int? {
        get { Self.number(storedCap) }
        set { storedCap = Self.stored(newValue) }
    }

    /// ``window`` as registrations and the registry write it.
    var windowSeconds: Int? {
        get { Self.number(storedWindow) }
        set { storedWindow = Self.stored(newValue) }
    }

    /// ``cooldown`` as registrations and the registry write it.
    var cooldownSeconds: Int? {
        get { Self.number(storedCooldown) }
        set { storedCooldown = Self.stored(newValue) }
    }

    private static func number(_ stored: Int32) -> Int? { stored < 0 ? nil : Int(stored) }

    private static func stored(_ number: Int?) -> Int32 { number.map { Int32(clamping: max(0, $0)) } ?? -1 }
}

extension BatchPreferences {
    /// Reads the `batch` object of a registration; empty if there is none.
    init(_ registration: FieldReader) throws(RegistrationError) {
        self.init()
        guard let reader = try registration.reader("batch") else { return }
        windowSeconds = try reader.integer("window_seconds", in: 0...RegistrationLimits.seconds)
        cooldownSeconds = try reader.integer("cooldown_seconds", in: 0...RegistrationLimits.seconds)
        dailyCap = try reader.integer("daily_cap", in: 1...RegistrationLimits.dailyCap)
    }
}

/// The filters that a device switches on or off; the operator's configuration decides about all others.
package struct FilterSwitches: Hashable, Sendable {
    /// By the filter's name, at most ``limit``.
    package var byName: [String: Bool]

    /// The maximum number of filters that a registration may name.
    package static let limit = 16

    package init(_ byName: [String: Bool] = [:]) {
        self.byName = byName
    }

    package var isEmpty: Bool { byName.isEmpty }

    /// Nil if the device does not mention that filter.
    package subscript(name: String) -> Bool? { byName[name] }
}

extension FilterSwitches {
    /// Reads the `filter_plugins` object of a registration; empty if there is none.
    init(_ registration: FieldReader) throws(RegistrationError) {
        self.init()
        guard let reader = try registration.reader("filter_plugins") else { return }
        guard reader.object.members.count <= Self.limit else {
            throw registration.refusal("filter_plugins", expected: "at most \(Self.limit) filters")
        }
        for member in reader.object.members {
            guard (1...RegistrationLimits.name).contains(member.name.utf8.count),
                Alphabet.filterName.spells(member.name)
            else {
                throw registration.refusal(
                    "filter_plugins",
                    expected: "names of filters, 1 to \(RegistrationLimits.name) of \(Alphabet.filterName)"
                )
            }
            if let isOn = try reader.bool(member.name) { byName[member.name] = isOn }
        }
    }
}
