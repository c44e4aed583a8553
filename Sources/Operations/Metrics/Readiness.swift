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
        var found = stuck.map { Shortcoming(what: "stuck", detail: $0) }
        if isOutboxUnwritable {
            found.append(Shortcoming(what: "outbox-unwritable", detail: "the disk refuses; nothing is lost"))
        }
        if outboxRows >= outboxLimit {
            found.append(Shortcoming(what: "outbox-full", detail: "\(outboxRows) deliveries wait, of \(outboxLimit)"))
        }
        for failure in failures {
            found.append(Shortcoming(what: "transport-failed", detail: "\(failure.queue.words): \(failure.reason)"))
        }
        // One that is started again will be there in a moment.
        for process in pluginProcesses where process.state == .pausing {
            let reason = process.lastDeath.map { ": \($0)" } ?? ""
            let detail = "\(process.plugins.joined(separator: ", ")) ended \(process.deaths) times\(reason)"
            found.append(Shortcoming(what: "plugin-paused", detail: detail))
        }
        for status in queues where status.pauseCause == .misconfigured {
            let detail = "\(status.queue.words): \(status.pauseReason ?? "")"
            found.append(Shortcoming(what: "transport-paused", detail: detail))
        }
        if relays > 0, connectedRelays == 0 {
            found.append(Shortcoming(what: "no-relay", detail: "none of \(relays) under relays.always is connected"))
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
}

/// Something for which the router cannot do all that it should.
struct Shortcoming: Hashable {
    /// One word of a small fixed set.
    let what: String
    /// For operators: which, and why. Never a secret.
    var detail = ""
}
