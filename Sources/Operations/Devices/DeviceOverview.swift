import Console
import Core
import Foundation
import Nostr
import Observability
import Pipeline
import Push
import Registry
import RouterConfiguration

/// The facts of a device that an operator may see, without its push token.
package struct DeviceOverview: OperatorAnswer, Equatable {
    package struct Push: Codable, Sendable, Hashable {
        /// RFC 3339, in UTC.
        package var at: String
        /// The name of a `DeliveryReport.Kind`.
        package var outcome: String
        /// The push service's HTTP status.
        package var status: Int?
        package var reason: String?
    }

    package var device: Int64
    /// The owner, as hex and as npub.
    package var account: String
    package var npub: String
    /// The registration's `d` tag, after the router's key.
    package var name: String
    package var platform: String
    package var app: String
    /// The mode in the registration; nil: the operator's default.
    package var mode: String?
    package var signals: [String]
    /// The time of the latest registration, RFC 3339 in UTC.
    package var registeredAt: String
    /// The time when the device stops being notified because its account's newest kind 10050 lists no devices, RFC 3339
    /// in UTC; nil if there is no such limit.
    package var countsUntil: String?
    package var wishes: DevicePreferencesOverview?
    /// Whether a trace is kept. Without it, the last success and error are unknown.
    package var isTraced: Bool
    package var lastSuccess: Push?
    package var lastError: Push?
    package var pace: DevicePaceOverview?
    /// The number of pushes in the outbox for the device, without the events that ``pace`` holds; nil if unreadable.
    package var waiting: Int?
    /// The reason why the queue of its platform is paused; nil if it is not known to be paused.
    package var queuePause: String?
    /// The same as a code and values.
    package var pauseMessage: Statement?
    /// Whether its push token is also another account's, and its owner has not yet returned the code pushed there.
    package var waitsForCode: Bool
    /// The time when it was disabled because pushes failed for a long time, RFC 3339 in UTC; nil if it is enabled.
    package var disabledAt: String?
    /// The start of the failures, if it is disabled.
    package var failingSince: String?
    /// True if its account, or the key that registered it, is blocked; otherwise nil.
    package var isBlocked: Bool?
    /// The members that were asked about this device; nil in lists, and if the router is not in a cluster.
    package var members: MembersAsked?

    /// Takes the registry's facts of a device; the caller adds the rest.
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

    /// Adds the results of the last pushes.
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

    /// The reason why the device is disabled; nil if it is enabled.
    var suspension: String? {
        guard let disabledAt, let failingSince else { return nil }
        return "it is switched off since \(disabledAt), because no push reached it since \(failingSince)"
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
            rows.append(("but", "blocked, so no pushes are sent to it: carillon users rules shows the rule"))
        }
        if waitsForCode { rows.append(("but", IdentityWords.waitsForCode)) }
        if let suspension {
            rows.append(("but", "\(suspension): carillon devices enable \(device), or its app registers it again"))
        }
        if let queuePause { rows.append(("but", queuePause)) }
        return (rows.map { "\($0.0.padded(to: 14))\($0.1)" } + (members?.lines ?? [])).joined(separator: "\n")
    }
}

extension DeviceOverview.Push {
    /// Returns a phrase such as `2026-11-22T07:00:00.125Z, gone (410 Unregistered)`.
    var words: String {
        "\(at), \(ReportWords.long(kind: outcome, status: status ?? 0, reason: reason ?? ""))"
    }
}

/// The pacing state of a device: its limits, and the events that wait.
package struct DevicePaceOverview: Codable, Sendable, Hashable {
    /// Nil if no limit is set, because pushes are counted only for limits.
    package var pushesToday: Int?
    /// The number of events that wait for it.
    package var held: Int
    /// The earliest time of the next push, RFC 3339 in UTC; nil: immediately, or when the push in flight ends.
    package var nextPushAt: String?
    /// The reason for the wait, as a phrase.
    package var reason: String?
    /// The same as one word: `cooldown`, `window`, `quiet`, `cap`, `background-budget`, `under-way` or `behind`.
    package var heldBy: String?

    init(_ forecast: PaceForecast) {
        pushesToday = forecast.pushesToday
        held = forecast.held
        nextPushAt = forecast.next.at.map(\.rfc3339)
        reason = forecast.next.reason.map { HoldWords.words($0, forecast.pace.quiet) }
        heldBy = forecast.next.reason?.rawValue
    }

    var rows: [(String, String)] {
        [
            ("pushes today", pushesToday.map(String.init) ?? "not counted, because there is no limit"),
            ("held", held == 0 ? "nothing" : "\(held)"),
            (
                "next push",
                [nextPushAt ?? (reason == nil ? "immediately" : nil), reason].compactMap(\.self).joined(separator: ", ")
            ),
        ]
    }
}

/// A device's notification preferences, and the effective values.
package struct DevicePreferencesOverview: Codable, Sendable, Hashable {
    /// Quiet hours as a registration spells them.
    package struct Quiet: Codable, Sendable, Hashable {
        package var start: String
        package var end: String
        package var tz: String
        package var dmBypassQuiet: Bool
    }

    package struct Bound: Codable, Sendable, Hashable {
        /// Nil: the operator's default.
        package var requested: Int?
        /// Within the operator's bounds; 0: none.
        package var inForce: Int
    }

    package struct Filter: Codable, Sendable, Hashable {
        package var name: String
        /// Nil: the operator's default.
        package var requested: Bool?
        /// Whether the filter plugin is active for this device.
        package var isActive: Bool
    }

    /// Nil if it has no quiet hours.
    package var quiet: Quiet?
    package var cooldownSeconds: Bound
    package var windowSeconds: Bound
    /// Pushes for each UTC day.
    package var dailyCap: Bound
    /// Nil if background pushes have no separate limit.
    package var backgroundPerHour: Int?
    /// The configured filter plugins in order, then those that only the registration names.
    package var filters: [Filter]
    /// The language of notifications, as the registration names it.
    package var locale: String?

    init(_ preferences: DevicePreferences, on platform: String, locale: String?, _ configuration: Configuration) {
        let (batch, pace) = (
            preferences.pace.batch, configuration.defaults.pacing.pace(for: preferences.pace, on: platform)
        )
        quiet = preferences.pace.quiet.map { quiet in
            Quiet(
                start: HoldWords.time(quiet.start),
                end: HoldWords.time(quiet.end),
                tz: HoldWords.zone(quiet.zone),
                dmBypassQuiet: quiet.letsDirectMessagesThrough
            )
        }
        cooldownSeconds = Bound(requested: batch.cooldown.map { Int($0.seconds) }, inForce: Int(pace.cooldown.seconds))
        windowSeconds = Bound(requested: batch.window.map { Int($0.seconds) }, inForce: Int(pace.window.seconds))
        dailyCap = Bound(requested: batch.dailyCap, inForce: pace.dailyCap ?? 0)
        backgroundPerHour = pace.backgroundPerHour
        filters = configuration.filters.map { filter in
            let preference = preferences.filters[filter.name]
            return Filter(name: filter.name, requested: preference, isActive: filter.availability.isActive(preference))
        }
        let served = Set(filters.map(\.name))
        filters += preferences.filters.byName.filter { !served.contains($0.key) }.sorted { $0.key < $1.key }
            .map { Filter(name: $0.key, requested: $0.value, isActive: false) }
        self.locale = locale
    }

    var rows: [(String, String)] {
        let pace = [
            cooldownSeconds.words { $0 == 0 ? "no cooldown" : "cooldown \($0) s" },
            windowSeconds.words { $0 == 0 ? "no window" : "window \($0) s" } + windowEffect,
            dailyCap.words { $0 == 0 ? "any number of pushes per day" : "\($0) pushes per day" },
        ]
        var rows = [("quiet", quiet?.words ?? "never")]
        rows += zip(["pace", "", ""], pace)
        if let backgroundPerHour { rows.append(("", "\(backgroundPerHour) background pushes per hour")) }
        rows += filters.isEmpty ? [("filters", "none")] : []
        rows += filters.enumerated().map { ($0 == 0 ? "filters" : "", $1.words) }
        if let locale { rows.append(("language", locale)) }
        return rows
    }

    /// A window has no effect unless it is longer than the cooldown.
    private var windowEffect: String {
        windowSeconds.inForce > 0 && windowSeconds.inForce <= cooldownSeconds.inForce
            ? "; no effect with that cooldown" : ""
    }
}

extension DevicePreferencesOverview.Quiet {
    fileprivate var words: String {
        "\(start) to \(end) (\(tz))\(dmBypassQuiet ? ", but direct messages come through" : "")"
    }
}

extension DevicePreferencesOverview.Bound {
    fileprivate func words(_ name: (Int) -> String) -> String {
        switch requested {
        case nil: "\(name(inForce)), the operator's default"
        case inForce: "\(name(inForce)), as requested"
        case let requested?: "\(name(inForce)), the operator's bound (requested: \(name(requested)))"
        }
    }
}

extension DevicePreferencesOverview.Filter {
    fileprivate var words: String {
        switch requested {
        case nil: "\(name) \(isActive ? "on" : "off"), the operator's default"
        case isActive: "\(name) \(isActive ? "on" : "off"), as requested"
        case .some(true): "\(name) off: requested, but not in the configuration"
        case .some(false): "\(name) on for every device, though the device requested it off"
        }
    }
}

/// One page of devices in the order of their numbers.
package struct DeviceList: OperatorAnswer, Equatable {
    package var devices: [DeviceOverview]
    /// The last device of this page; nil on the last page.
    package var next: Int64?
    /// On the first page: registrations that have no effect until the kind 10050 of their root identity names the key
    /// that signed them.
    package var waiting: [WaitingDevice] = []
    /// The members that were asked; nil if the router is not in a cluster.
    package var members: MembersAsked?

    package var text: String {
        let lines = [devices.isEmpty ? "no devices" : table(withHead: true)] + waiting.map(\.text) + missing
        return lines.joined(separator: "\n")
    }

    /// The members that did not respond, one line each.
    package var missing: [String] { members?.lines ?? [] }

    /// Returns a row for each device, with columns as wide as necessary.
    package func table(withHead: Bool) -> String {
        let head = [
            "DEVICE", "ACCOUNT", "NAME", "PLATFORM", "MODE", "LAST SUCCESS", "LAST ERROR", "TODAY", "NEXT PUSH",
        ]
        return TextTable.lines((withHead ? [head] : []) + devices.map(\.row)).joined(separator: "\n")
    }
}

extension DeviceOverview {
    fileprivate var row: [String] {
        let error = lastError.map { error in
            let words = ReportWords.short(kind: error.outcome, status: error.status ?? 0, reason: error.reason ?? "")
            return "\(error.at.minute) \(words)"
        }
        let name = name.isEmpty ? "-" : String(name.prefix(20))
        let success: String? = lastSuccess.map { "\($0.at.prefix(16))Z" }
        let today: String? = pace?.pushesToday.map(String.init)
        let row: [String] = [
            "\(device)", "\(npub.prefix(12))…\(npub.suffix(4))", name, "\(platform)/\(app)", mode ?? "default",
            success ?? "-", error ?? "-", today ?? "-", nextPush,
        ]
        return countsUntil.map { row + ["only until \($0.minute)"] } ?? row
    }

    private var nextPush: String {
        if isBlocked == true { return "blocked" }
        if waitsForCode { return "needs a code" }
        if disabledAt != nil { return "switched off" }
        if queuePause != nil { return "paused" }
        guard let pace else { return "-" }
        return pace.nextPushAt.map { $0.minute } ?? pace.reason ?? "at once"
    }
}

/// A registration that waits for its root identity.
package struct WaitingDevice: Codable, Sendable, Hashable {
    /// The future owner, as hex and as npub.
    package var account: String
    package var npub: String
    /// The key that signed the registration.
    package var key: String
    /// The registration's `d` tag, after the router's key.
    package var name: String

    init(_ registration: WaitingRegistration) {
        account = registration.root.hex
        npub = NIP19.npub(registration.root)
        key = registration.slot.author.hex
        name = registration.slot.deviceID
    }

    package var text: String {
        "waiting: \(name.isEmpty ? "a registration" : "'\(name)'") of \(npub), \(IdentityWords.waiting(key))"
    }
}
