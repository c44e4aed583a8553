import Pipeline
import Registry
import RouterConfiguration
import Units

/// What a device's registration preferences of when and for what it is woken, and what it gets of that.
package struct DevicePreferencesOverview: Codable, Sendable, Hashable {
    /// As a registration spells it.
    package struct Quiet: Codable, Sendable, Hashable {
        package var start: String
        package var end: String
        package var tz: String
        package var dmBypassQuiet: Bool
    }

    package struct Bound: Codable, Sendable, Hashable {
        /// Nil: the operator's default.
        package var wished: Int?
        /// Within the operator's bounds; 0: none.
        package var inForce: Int
    }

    package struct Filter: Codable, Sendable, Hashable {
        package var name: String
        /// Nil: the operator's default.
        package var wished: Bool?
        /// Whether it is asked for this device.
        package var isActive: Bool
    }

    /// Nil: it may be woken at any time.
    package var quiet: Quiet?
    package var cooldownSeconds: Bound
    package var windowSeconds: Bound
    /// Pushes a UTC day.
    package var dailyCap: Bound
    /// Nil: as many as of anything else.
    package var backgroundPerHour: Int?
    /// Those in the configuration, in its order, and then those that only the registration names.
    package var filters: [Filter]
    /// The language it wants to be told in, as the registration names it.
    package var locale: String?

    init(_ preferences: DevicePreferences, on platform: String, locale: String?, _ configuration: Configuration) {
        let (batch, pace) = (preferences.pace.batch, configuration.pacing.pace(for: preferences.pace, on: platform))
        quiet = preferences.pace.quiet.map { quiet in
            Quiet(
                start: HoldWords.time(quiet.start),
                end: HoldWords.time(quiet.end),
                tz: HoldWords.zone(quiet.zone),
                dmBypassQuiet: quiet.letsDirectMessagesThrough
            )
        }
        cooldownSeconds = Bound(wished: batch.cooldown.map { Int($0.seconds) }, inForce: Int(pace.cooldown.seconds))
        windowSeconds = Bound(wished: batch.window.map { Int($0.seconds) }, inForce: Int(pace.window.seconds))
        dailyCap = Bound(wished: batch.dailyCap, inForce: pace.dailyCap ?? 0)
        backgroundPerHour = pace.silentPerHour
        filters = configuration.filters.map { filter in
            let wish = preferences.filters[filter.name]
            return Filter(name: filter.name, wished: wish, isActive: filter.availability.isActive(wish))
        }
        let served = Set(filters.map(\.name))
        filters += preferences.filters.byName.filter { !served.contains($0.key) }.sorted { $0.key < $1.key }
            .map { Filter(name: $0.key, wished: $0.value, isActive: false) }
        self.locale = locale
    }

    var rows: [(String, String)] {
        let pace = [
            cooldownSeconds.words { $0 == 0 ? "no cooldown" : "cooldown \($0) s" },
            windowSeconds.words { $0 == 0 ? "no window" : "window \($0) s" } + windowEffect,
            dailyCap.words { $0 == 0 ? "any number of pushes a day" : "\($0) pushes a day" },
        ]
        var rows = [("quiet", quiet?.words ?? "never")]
        rows += zip(["pace", "", ""], pace)
        if let backgroundPerHour { rows.append(("", "\(backgroundPerHour) background pushes an hour")) }
        rows += filters.isEmpty ? [("filters", "none")] : []
        rows += filters.enumerated().map { ($0 == 0 ? "filters" : "", $1.words) }
        if let locale { rows.append(("language", locale)) }
        return rows
    }

    /// What a longer cooldown gathers needs no window.
    private var windowEffect: String {
        windowSeconds.inForce > 0 && windowSeconds.inForce <= cooldownSeconds.inForce
            ? "; without effect beside that cooldown" : ""
    }
}

extension DevicePreferencesOverview.Quiet {
    fileprivate var words: String {
        "\(start) to \(end) (\(tz))\(dmBypassQuiet ? ", but direct messages come through" : "")"
    }
}

extension DevicePreferencesOverview.Bound {
    fileprivate func words(_ name: (Int) -> String) -> String {
        switch wished {
        case nil: "\(name(inForce)), the operator's default"
        case inForce: "\(name(inForce)), as wished"
        case let wished?: "\(name(inForce)), the operator's bound (wished: \(name(wished)))"
        }
    }
}

extension DevicePreferencesOverview.Filter {
    fileprivate var words: String {
        switch wished {
        case nil: "\(name) \(isActive ? "on" : "off"), the operator's default"
        case isActive: "\(name) \(isActive ? "on" : "off"), as wished"
        case .some(true): "\(name) off: wished, but not in the configuration"
        case .some(false): "\(name) on for every device, though the device wishes it off"
        }
    }
}
