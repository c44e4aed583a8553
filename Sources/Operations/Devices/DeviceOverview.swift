import Console
import Core
import Nostr
import Observability
import Pipeline
import Push
import Registry
import RouterConfiguration

/// What an operator may see of a device: nothing by which it could be pushed to.
package struct DeviceOverview: OperatorAnswer, Equatable {
    package struct Push: Codable, Sendable, Hashable {
        /// RFC 3339, in UTC.
        package var at: String
        /// By its word, see `DeliveryReport.Kind`.
        package var outcome: String
        /// The push service's HTTP status.
        package var status: Int?
        package var reason: String?
    }

    package var device: Int64
    /// The owner's, as hex and as npub.
    package var account: String
    package var npub: String
    /// What the registration's `d` says behind the router's key.
    package var name: String
    package var platform: String
    package var app: String
    /// The mode that the registration asked for; nil: the operator's default.
    package var mode: String?
    package var signals: [String]
    /// When it was registered last, RFC 3339 in UTC.
    package var registeredAt: String
    /// Until when it is woken, RFC 3339 in UTC, for the newest kind 10050 of its account says nothing of devices; nil:
    /// for good.
    package var countsUntil: String?
    package var wishes: DevicePreferencesOverview?
    /// Whether it is written down how pushes go; else their last success and error are not known.
    package var isTraced: Bool
    package var lastSuccess: Push?
    package var lastError: Push?
    package var pace: DevicePaceOverview?
    /// How many pushes wait in the outbox for it, besides the events that ``pace`` holds; nil: that cannot be read.
    package var waiting: Int?
    /// Why nothing goes to its push service now, in words; nil: as far as is known it does.
    package var queuePause: String?
    /// The same for programs.
    package var queuePauseSays: Statement?
    /// Whether its target belongs to another account, and nobody has shown yet that they read there.
    package var waitsForCode: Bool
    /// Since when it is switched off, as pushes to it failed for long, RFC 3339 in UTC; nil: it is not.
    package var disabledAt: String?
    /// Since when nothing reached it, where it is switched off.
    package var failingSince: String?
    /// True where it is out of use, as its account or the key that registered it is blocked; nil: it is not.
    package var isBlocked: Bool?
    /// Who was asked, where only this device was asked for; nil also: the router serves alone.
    package var members: MembersAsked?

    /// What the registry knows of a device; the rest is added.
    init(_ listing: DeviceListing, isTraced: Bool) {
        device = listing.device.rawValue
        account = listing.account.hex
        npub = NIP19.npub(listing.account)
        name = listing.slot.deviceID
        platform = listing.route.platform
        app = listing.route.app
        mode = listing.mode?.name
        signals = listing.signals.map(\.rawValue)
        registeredAt = listing.registeredAt.rfc3339
        countsUntil = listing.countsUntil.map(\.rfc3339)
        self.isTraced = isTraced
        waitsForCode = listing.waitsForCode
        disabledAt = listing.suspension.map { $0.disabledAt.rfc3339 }
        failingSince = listing.suspension.map { $0.failingSince.rfc3339 }
    }

    /// Adds how pushes to it went.
    mutating func add(_ status: DeviceStatus) {
        lastSuccess = status.lastSuccess.map { success in
            Push(
                at: success.at.rfc3339,
                outcome: "delivered",
                status: success.status == 0 ? nil : success.status
            )
        }
        lastError = status.lastFailure.map { failure in
            Push(
                at: failure.at.rfc3339,
                outcome: failure.kind,
                status: failure.status == 0 ? nil : failure.status,
                reason: failure.reason.isEmpty ? nil : failure.reason
            )
        }
    }

    /// Why it is switched off, in words; nil: it is not.
    var suspension: String? {
        guard let disabledAt, let failingSince else { return nil }
        return "it is switched off since \(disabledAt), as nothing reached it since \(failingSince)"
    }

    package var text: String {
        var rows = [
            ("device", "\(device)"), ("account", npub), ("", account), ("name", name.isEmpty ? "-" : name),
            ("platform", platform), ("app", app), ("mode", mode ?? "the operator's default"),
            ("wants", signals.isEmpty ? "nothing" : signals.joined(separator: ", ")),
            ("registered", registeredAt),
        ]
        if let countsUntil { rows.append(("counts until", "\(countsUntil): \(IdentityWords.silentList)")) }
        rows += wishes?.rows ?? []
        let none = isTraced ? "none known" : "not written down (trace: off)"
        rows += [
            ("last success", lastSuccess?.words ?? none), ("last error", lastError?.words ?? none),
        ]
        if let waiting { rows.append(("in the outbox", waiting == 0 ? "nothing" : "\(waiting) not delivered yet")) }
        rows += pace?.rows ?? []
        if isBlocked == true {
            rows.append(("but", "blocked, so nothing is sent to it: carillon users rules says more"))
        }
        if waitsForCode { rows.append(("but", IdentityWords.waitsForCode)) }
        if let suspension {
            rows.append(("but", "\(suspension): carillon devices enable \(device), or its app registers it anew"))
        }
        if let queuePause { rows.append(("but", queuePause)) }
        return (rows.map { "\($0.0.padded(to: 14))\($0.1)" } + (members?.lines ?? [])).joined(separator: "\n")
    }
}

extension DeviceOverview.Push {
    /// As in `2026-11-22T07:00:00.125Z, gone (410 Unregistered)`.
    var words: String {
        "\(at), \(ReportWords.long(kind: outcome, status: status ?? 0, reason: reason ?? ""))"
    }
}

/// How a device is woken now: what counts against it, and what waits for it.
package struct DevicePaceOverview: Codable, Sendable, Hashable {
    /// Nil: nothing limits them, so nobody counts.
    package var pushesToday: Int?
    /// How many events wait for it.
    package var held: Int
    /// When the next push could go, of what waits or else of what came now, RFC 3339 in UTC; nil: at once, or as soon
    /// as one that is under way has ended.
    package var nextPushAt: String?
    /// Why not at once, in words.
    package var reason: String?
    /// The same as one word: `cooldown`, `window`, `quiet`, `cap`, `silent-budget`, `under-way` or `behind`.
    package var hold: String?

    init(_ forecast: PaceForecast) {
        pushesToday = forecast.pushesToday
        held = forecast.held
        nextPushAt = forecast.next.at.map(\.rfc3339)
        reason = forecast.next.reason.map { HoldWords.words($0, forecast.pace.quiet) }
        hold = forecast.next.reason?.rawValue
    }

    var rows: [(String, String)] {
        [
            ("pushes today", pushesToday.map(String.init) ?? "not counted, as nothing limits them"),
            ("held", held == 0 ? "nothing" : "\(held)"),
            (
                "next push",
                [nextPushAt ?? (reason == nil ? "at once" : nil), reason].compactMap(\.self).joined(separator: ", ")
            ),
        ]
    }
}

/// How it stands with devices that have keys of their own, in words that a person understands.
enum IdentityWords {
    static let silentList =
        "the newest kind 10050 of its user says nothing of devices; one that names it again ends that"
    static let waitsForCode = "its target is another account's; it waits for the code that was pushed there"

    static func waiting(_ key: String) -> String {
        "until the newest kind 10050 of theirs has [\"device\", \"\(key)\"]"
    }

    /// What `explain` says beside what became of an event.
    static func sentences(
        of account: PublicKey,
        waiting: [WaitingDevice],
        _ devices: [DeviceOverview]
    ) -> [Sentence] {
        let npub = NIP19.npub(account)
        let registrations = waiting.map { waiting in
            Sentence(
                "advice-unlisted",
                ["account": npub, "key": waiting.key],
                "A registration of \(npub) waits, and wakes nobody, \(Self.waiting(waiting.key))."
            )
        }
        return registrations
            + devices.compactMap { device in
                let head = "Device \(device.device) of \(npub)"
                var values = ["account": npub, "device": "\(device.device)"]
                if device.waitsForCode {
                    return Sentence("advice-needs-code", values, "\(head) is not woken: \(waitsForCode).")
                }
                if let suspension = device.suspension {
                    values["since"] = device.failingSince
                    return Sentence("advice-switched-off", values, "\(head) is not woken: \(suspension).")
                }
                return device.countsUntil.map { until in
                    values["until"] = until
                    return Sentence(
                        "advice-counts-until",
                        values,
                        "\(head) is woken until \(until) only: \(silentList)."
                    )
                }
            }
    }
}

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
