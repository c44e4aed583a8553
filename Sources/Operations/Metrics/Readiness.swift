import Console
import Delivery
import PluginIsolation
import Units
import YAMLReading

/// How the router's parts stand at a moment, and what follows for whether it is ready.
struct Readiness {
    var isServing = true
    /// Parts that do not come round.
    var stuck: [String] = []
    var outboxRows = 0
    var outboxLimit = 0
    var isOutboxUnwritable = false
    /// Bytes that are free where the databases lie.
    var freeBytes = Int64.max
    /// Transports that cannot start, and why; whether a plugin serves the platform.
    var failures: [(queue: QueueName, reason: String, hasPlugin: Bool)] = []
    /// How the processes are doing that plugins run in.
    var pluginProcesses: [PluginProcessReport] = []
    var queues: [QueueStatus] = []
    /// Relays that the configuration wants to be connected to at all times, and how many of them are.
    var relays = 0
    var connectedRelays = 0
    /// Whether events come from somewhere, or can.
    var hasSource = true
    var facts = HealthFacts()

    /// With less free space SQLite may not find room for its next write.
    private static let leastFree: Int64 = 4 << 20

    /// All problems, including those that leave the router ready.
    var shortcomings: [Shortcoming] {
        guard isServing else { return [Shortcoming(what: "not-serving", detail: "starting or stopping")] }
        var found = stuck.map { Shortcoming(what: "stuck", detail: $0, values: ["part": $0]) }
        if isOutboxUnwritable {
            found.append(Shortcoming(what: "outbox-unwritable", detail: "the disk refuses; nothing is lost"))
        }
        if outboxRows >= outboxLimit {
            let values = ["count": "\(outboxRows)", "limit": "\(outboxLimit)"]
            let detail = "\(outboxRows) deliveries wait, of \(outboxLimit)"
            found.append(Shortcoming(what: "outbox-full", detail: detail, values: values))
        }
        if freeBytes < Self.leastFree {
            let detail = "\(freeBytes >> 10) KiB are free where the databases lie: what comes in is refused"
            found.append(Shortcoming(what: "disk-full", detail: detail, values: ["kibibytes": "\(freeBytes >> 10)"]))
        }
        if relays > 0, connectedRelays == 0 {
            let detail = "none of \(relays) under relays.always is connected"
            found.append(Shortcoming(what: "no-relay", detail: detail, values: ["count": "\(relays)"]))
        }
        return found + ofParts + doubts
    }

    /// Other platforms, apps and plugins work all the same.
    private var ofParts: [Shortcoming] {
        var found = failures.map { failure in
            Shortcoming(
                what: "transport-failed",
                code: failure.hasPlugin ? nil : "transport-failed-no-plugin",
                detail: "\(failure.queue.words): \(failure.reason)",
                values: ["queue": failure.queue.name, "detail": failure.reason],
                isOfPart: true
            )
        }
        // One that is started again will be there in a moment.
        for process in pluginProcesses where process.state == .pausing {
            let reason = process.lastDeath.map { ": \($0)" } ?? ""
            let detail = "\(process.plugins.joined(separator: ", ")) ended \(process.deaths) times\(reason)"
            let values = [
                "plugins": process.plugins.joined(separator: ", "), "count": "\(process.deaths)",
                "detail": process.lastDeath ?? "",
            ]
            found.append(Shortcoming(what: "plugin-paused", detail: detail, values: values, isOfPart: true))
        }
        for status in queues where status.pauseCause == .misconfigured {
            let reason = status.pauseReason ?? ""
            let isWithoutTransport = reason == "no-transport"
            // Said above, with the reason.
            if isWithoutTransport, failures.contains(where: { $0.queue == status.queue }) { continue }
            found.append(
                Shortcoming(
                    what: "transport-paused",
                    code: isWithoutTransport ? "transport-paused-no-plugin" : nil,
                    detail: "\(status.queue.words): \(reason)",
                    values: ["queue": status.queue.name, "reason": reason],
                    isOfPart: true
                )
            )
        }
        return found
    }

    /// What should be looked at. Pushes go out all the same.
    private var doubts: [Shortcoming] {
        var found = facts.filterFailures.map { failure in
            Shortcoming(
                what: "filter-failed",
                detail: "the filter \(failure.name) cannot start: \(failure.reason)",
                values: ["filter": failure.name, "detail": failure.reason],
                isGrave: false
            )
        }
        if let (mistakes, at) = facts.refusedReload, let first = mistakes.first {
            let others = mistakes.count == 1 ? "" : ", and \(mistakes.count - 1) more"
            found.append(
                Shortcoming(
                    what: "reload-refused",
                    detail: "the configuration was refused at \(UTCTime(at).words), so the former one is in force: "
                        + "\(first)\(others)",
                    values: ["at": UTCTime(at).stamp, "detail": "\(first)", "count": "\(mistakes.count)"],
                    isGrave: false
                )
            )
        }
        if relays == 0, !hasSource, !facts.hasSource {
            found.append(
                Shortcoming(
                    what: "no-source",
                    detail: "no relay and no feed brings events, and no client has",
                    isGrave: false
                )
            )
        }
        if let (count, last) = facts.foreignMessages {
            found.append(
                Shortcoming(
                    what: "foreign-messages",
                    detail: "\(count) messages over NATS that no member of the cluster wrote were passed over, "
                        + "the last at \(UTCTime(last).words)",
                    values: ["count": "\(count)", "at": UTCTime(last).stamp],
                    isGrave: false
                )
            )
        }
        return found
    }

    /// `details` for those alone who may know names and reasons.
    func answer(details: Bool) -> ConsoleAnswer {
        let shortcomings = shortcomings.filter { $0.isGrave && !$0.isOfPart }
        let reasons =
            details
            ? shortcomings.map {
                "{\"what\":\(JSONText.quoted($0.what)),\"detail\":\(JSONText.quoted($0.detail))}"
            }
            : Set(shortcomings.map(\.what)).sorted().map { "{\"what\":\(JSONText.quoted($0))}" }
        let body = "{\"ready\":\(shortcomings.isEmpty),\"not_ready\":[\(reasons.joined(separator: ","))]}\n"
        return ConsoleAnswer(status: shortcomings.isEmpty ? 200 : 503, body: body)
    }
}

extension QueueName {
    fileprivate var words: String { "\(platform) of \(app)" }

    fileprivate var name: String { "\(platform)/\(app)" }
}

/// Further facts about the router's health.
package struct HealthFacts: Sendable {
    /// Whether there is something that brings events, relays aside.
    package var hasSource = false
    package var filterFailures: [Filters.Failure] = []
    /// The mistakes that refused the last reload, and its time; nil if it succeeded.
    package var refusedReload: (mistakes: [Diagnostic], at: Timestamp)?
    /// Messages that no member of the cluster wrote, and when the last one came; nil: there are none lately.
    package var foreignMessages: (count: Int, last: Timestamp)?

    package init() {}
}

/// Something for which the router cannot do all that it should.
struct Shortcoming: Hashable {
    /// One word of a small fixed set.
    let what: String
    /// Its kind where that needs another remedy; nil: there is one kind.
    var code: String?
    /// For operators: which, and why. Never a secret.
    var detail = ""
    /// The values in its sentence, by name.
    var values: [String: String] = [:]
    /// Whether it concerns one platform, app or plugin alone, so that the router is ready.
    var isOfPart = false
    /// Whether pushes do not go out because of it. Otherwise the router is ready, too.
    var isGrave = true

    /// The same for programs.
    var says: Statement { Statement(code ?? what, values) }
}
