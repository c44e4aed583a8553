import Console
import EventTrace
import Nostr
import Notifications
import Pipeline
import Registry

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

    init(
        _ listing: DeviceListing,
        _ wishes: DevicePreferencesOverview?,
        isTraced: Bool,
        _ status: DeviceStatus?,
        _ pace: DevicePaceOverview?,
        waiting: Int?,
        _ pause: TracedPause?
    ) {
        device = listing.device.rawValue
        account = listing.account.hex
        npub = NIP19.npub(listing.account)
        name = listing.slot.deviceID
        platform = listing.route.platform
        app = listing.route.app
        mode = listing.mode?.name
        signals = listing.signals.map(\.rawValue)
        registeredAt = UTCTime(listing.registeredAt).stamp
        countsUntil = listing.countsUntil.map { UTCTime($0).stamp }
        self.wishes = wishes
        self.isTraced = isTraced
        lastSuccess = status?.lastSuccess.map { success in
            Push(
                at: UTCTime(success.at).stamp,
                outcome: "delivered",
                status: success.status == 0 ? nil : success.status
            )
        }
        lastError = status?.lastFailure.map { failure in
            Push(
                at: UTCTime(failure.at).stamp,
                outcome: failure.kind,
                status: failure.status == 0 ? nil : failure.status,
                reason: failure.reason.isEmpty ? nil : failure.reason
            )
        }
        self.pace = pace
        self.waiting = waiting
        queuePause = pause.map(PauseWords.words)
        queuePauseSays = pause.map(PauseWords.statement)
        waitsForCode = listing.waitsForCode
        disabledAt = listing.suspension.map { UTCTime($0.disabledAt).stamp }
        failingSince = listing.suspension.map { UTCTime($0.failingSince).stamp }
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
        nextPushAt = forecast.next.at.map { UTCTime($0).stamp }
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
