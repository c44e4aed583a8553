import Console
import Delivery
import PluginIsolation

/// How the router's parts stand at a moment, and what follows for whether it is ready.
struct Readiness {
    var isServing = true
    /// Parts that do not come round.
    var stuck: [String] = []
    var outboxRows = 0
    var outboxLimit = 0
    var isOutboxUnwritable = false
    /// Transports that cannot start, and why.
    var failures: [(queue: QueueName, reason: String)] = []
    /// How the processes are doing that plugins run in.
    var pluginProcesses: [PluginProcessReport] = []
    var queues: [QueueStatus] = []
    /// Relays that the configuration wants to be connected to at all times, and how many of them are.
    var relays = 0
    var connectedRelays = 0

    /// None when it is ready.
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
        for failure in failures {
            let values = ["queue": failure.queue.name, "detail": failure.reason]
            let detail = "\(failure.queue.words): \(failure.reason)"
            found.append(Shortcoming(what: "transport-failed", detail: detail, values: values))
        }
        // One that is started again will be there in a moment.
        for process in pluginProcesses where process.state == .pausing {
            let reason = process.lastDeath.map { ": \($0)" } ?? ""
            let detail = "\(process.plugins.joined(separator: ", ")) ended \(process.deaths) times\(reason)"
            let values = [
                "plugins": process.plugins.joined(separator: ", "), "count": "\(process.deaths)",
                "detail": process.lastDeath ?? "",
            ]
            found.append(Shortcoming(what: "plugin-paused", detail: detail, values: values))
        }
        for status in queues where status.pauseCause == .misconfigured {
            let detail = "\(status.queue.words): \(status.pauseReason ?? "")"
            let values = ["queue": status.queue.name, "reason": status.pauseReason ?? ""]
            found.append(Shortcoming(what: "transport-paused", detail: detail, values: values))
        }
        if relays > 0, connectedRelays == 0 {
            let detail = "none of \(relays) under relays.always is connected"
            found.append(Shortcoming(what: "no-relay", detail: detail, values: ["count": "\(relays)"]))
        }
        return found
    }

    /// `details` for those alone who may know names and reasons.
    func answer(details: Bool) -> ConsoleAnswer {
        let shortcomings = shortcomings
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

/// Something for which the router cannot do all that it should.
struct Shortcoming: Hashable {
    /// One word of a small fixed set.
    let what: String
    /// For operators: which, and why. Never a secret.
    var detail = ""
    /// What stands in it, by name.
    var values: [String: String] = [:]

    /// The same for programs.
    var says: Statement { Statement(what, values) }
}
