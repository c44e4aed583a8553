import Console
import Core
import Delivery
import HTTPClient
import Nostr
import Observability
import Pipeline
import Push
import Registry
import RouterConfiguration

/// Describes the reports of a delivery for people.
enum ReportWords {
    static func words(_ report: TraceEntry.Report, reason: String) -> String {
        guard let kind = DeliveryReport.Kind(rawValue: report.kind) else { return report.kind }
        let answer = answer(report.status, reason, to: report.kind)
        let place = report.queue.words
        let attempt = report.attempt > 1 ? ", at the \(ordinal(report.attempt)) attempt" : ""
        return switch kind {
        case .delivered: "delivered: \(place) took it\(answer)\(attempt)"
        case .gone: "not delivered: \(place) says the device is gone\(answer), so it was forgotten"
        case .rejected where reason == "plugin-crashed":
            "not delivered: the plugin for \(place) crashed on it twice, or never ended"
        case .rejected: "not delivered: \(place) rejects it permanently\(answer)"
        case .retry:
            "not delivered yet: \(place) failed\(answer)\(attempt); \(next(report.nextDue))"
        case .postponed where reason == "endpoint-refuses":
            "waits: this device's endpoint refused several pushes in a row; \(next(report.nextDue, isTried: attempted(report)))"
        case .postponed:
            "waits: the device's server asked for a pause, or could not be reached; "
                + next(report.nextDue, isTried: attempted(report))
        case .reduced where reason == "unsupported":
            "\(place) cannot send it to this device in its mode\(answer): it is sent again with less content"
        case .reduced: "too much for \(place)\(answer): it is sent again with less content"
        case .misconfigured:
            "not delivered yet: \(place) refuses the router's credentials\(answer); it waits until you correct them"
        case .expired: "not delivered: its lifetime was over before \(place) took it"
        case .unregistered: "not delivered: the device is no longer registered"
        case .moved: "the device has moved to another platform or app, where the delivery continues"
        case .requeued: "an operator had it tried again: it waits for its turn"
        case .discarded: "not delivered: an operator dropped it"
        case .deleted: "not delivered: its author deleted the event"
        case .unreadable: "not delivered: what the outbox holds of it cannot be read"
        }
    }

    /// Returns the result of a push, short enough for a table column.
    static func short(kind: String, status: Int, reason: String) -> String {
        kind + inParentheses(said(status, reason, to: kind))
    }

    /// Returns the result of a push, with an explanation if the router gave the reason.
    static func long(kind: String, status: Int, reason: String) -> String { kind + answer(status, reason, to: kind) }

    /// Like ``said``, plus an explanation if there was no response.
    static func explained(_ status: Int, _ reason: String, to outcome: String) -> String {
        let said = said(status, reason, to: outcome)
        guard status == 0, !said.isEmpty, let cause = HTTPError.Reason(rawValue: reason) else { return said }
        return said + ": " + cause.explanation
    }

    /// Returns the push service's status and reason, without a reason that only repeats `outcome`.
    static func said(_ status: Int, _ reason: String, to outcome: String) -> String {
        [status == 0 ? "" : String(status), reason == outcome ? "" : reason].filter { !$0.isEmpty }
            .joined(separator: " ")
    }

    private static func answer(_ status: Int, _ reason: String, to outcome: String) -> String {
        inParentheses(explained(status, reason, to: outcome))
    }

    private static func inParentheses(_ text: String) -> String { text.isEmpty ? "" : " (\(text))" }

    private static func attempted(_ report: TraceEntry.Report) -> Bool { report.attempt > 0 }

    /// Describes the next attempt, at `due` if known. `isTried` is whether the push was tried before.
    private static func next(_ due: Timestamp?, isTried: Bool = true) -> String {
        let what = isTried ? "it is tried again" : "it is tried"
        return due.map { "\(what) from \($0.words) on" } ?? what
    }

    private static func ordinal(_ number: Int) -> String {
        let end =
            switch (number % 100, number % 10) {
            case (11...13, _): "th"
            case (_, 1): "st"
            case (_, 2): "nd"
            case (_, 3): "rd"
            default: "th"
            }
        return "\(number)\(end)"
    }
}

/// Describes for people why a queue is paused.
enum PauseWords {
    static func statement(_ paused: TracedPause) -> Statement {
        let pause = paused.pause
        let code =
            switch pause.cause {
            case .misconfigured where pause.reason == "no-transport": "paused-no-plugin"
            case .misconfigured: "paused-credentials"
            case .asked: "paused-asked"
            }
        return Statement(
            code,
            [
                "queue": pause.queue.words, "reason": pause.reason,
                "since": paused.since.rfc3339, "until": pause.until.rfc3339,
            ]
        )
    }

    static func words(_ paused: TracedPause) -> String {
        let pause = paused.pause
        let place = pause.queue.words
        let since = paused.since.words
        let until = pause.until.words
        return switch pause.cause {
        case .misconfigured where pause.reason == "no-transport":
            "no plugin serves \(place) since \(since); it is looked for again from \(until) on"
        case .misconfigured:
            "\(place) is paused since \(since) because it refuses the router's credentials (\(pause.reason)); it is tried again "
                + "from \(until) on"
        case .asked: "\(place) asked for a pause until \(until) (\(pause.reason))"
        }
    }
}

/// Describes for people why a push to a device is held.
enum HoldWords {
    /// Returns a phrase such as "quiet hours until 07:00 (Europe/Berlin)", with the device's quiet hours if known.
    static func words(_ reason: HoldReason, _ quiet: QuietHours?) -> String {
        guard reason == .quiet, let quiet else { return reason.words }
        return "quiet hours until \(time(quiet.end)) (\(zone(quiet.zone)))"
    }

    /// Returns the reason, the time and the number of events, to follow "held: ".
    static func words(_ group: PaceForecast.Group, _ quiet: QuietHours?) -> String {
        [
            group.turn.reason.map { words($0, quiet) } ?? "the device's turn is now",
            group.turn.at.map { "goes at \($0.words)" },
            group.count > 1 ? "\(group.count) events wait" : nil,
        ]
        .compactMap(\.self).joined(separator: "; ")
    }

    /// Returns the same with codes and values.
    static func ending(_ group: PaceForecast.Group) -> EventExplanation.Ending {
        EventExplanation.Ending(
            step: PipelineStep.held.rawValue,
            reason: group.turn.reason?.rawValue,
            nextAt: group.turn.at.map(\.rfc3339),
            count: group.count
        )
    }

    /// Returns a time such as "07:00".
    static func time(_ time: TimeOfDay) -> String { clock(time.minutes) }

    /// Returns a zone such as "Europe/Berlin" or "UTC+9".
    static func zone(_ zone: QuietZone) -> String {
        switch zone {
        case .offset(let offset): Self.offset(offset)
        case .named(let zone): zone.isKnown ? zone.name : "\(zone.name), which is not known: UTC"
        }
    }

    /// Returns an offset such as "UTC+9" or "UTC-03:30".
    static func offset(_ offset: UTCOffset) -> String {
        let minutes = abs(offset.minutes)
        guard minutes > 0 else { return "UTC" }
        let sign = offset.minutes < 0 ? "-" : "+"
        return "UTC\(sign)" + (minutes % 60 == 0 ? "\(minutes / 60)" : clock(minutes))
    }

    private static func clock(_ minutes: Int) -> String {
        [minutes / 60, minutes % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}

/// Explains for people why devices with their own keys get no notifications.
enum IdentityWords {
    static let silentList =
        "the newest kind 10050 of its user lists no devices; a newer one that lists this device ends that"
    static let waitsForCode = "its target is another account's; it waits for the code that was pushed there"

    static func waiting(_ key: String) -> String {
        "until the newest kind 10050 of theirs has [\"device\", \"\(key)\"]"
    }

    /// Returns the sentences that `explain` adds to the results of an event.
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
                "A registration of \(npub) waits, and sends no notifications \(Self.waiting(waiting.key))."
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
