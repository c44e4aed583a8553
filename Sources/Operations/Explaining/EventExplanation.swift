import Console
import Core
import Delivery
import Nostr
import Observability
import Pipeline
import Push
import Registry

/// The results of an event, with the steps for each account and device.
package struct EventExplanation: OperatorAnswer, Equatable {
    /// A step in the processing of an event.
    package struct Line: Codable, Sendable, Hashable {
        /// RFC 3339, in UTC.
        package var at: String
        /// One word: a step of the pipeline, or the kind of a delivery's report.
        package var step: String
        /// The same as a sentence for people.
        package var words: String
        package var reason: String?
        package var delivery: String?
        package var platform: String?
        package var app: String?
        /// The push service's HTTP status.
        package var status: Int?
        package var attempt: Int?
        /// The time of the next attempt.
        package var nextAt: String?
        /// The member that recorded the step; nil if the router is not in a cluster.
        package var member: String?
    }

    /// The final or current state of a push to a device, for programs.
    package struct Ending: Codable, Sendable, Hashable {
        /// As in ``Line/step``; `in-turn` before the end of the first attempt, `unknown` if the result is unknown.
        package var step: String
        package var reason: String?
        package var platform: String?
        package var app: String?
        package var status: Int?
        package var attempt: Int?
        /// The earliest time of the push, or of the next attempt.
        package var nextAt: String?
        /// The number of events that are held together.
        package var count: Int?
        /// The reason why its queue is paused; nil if it is not.
        package var pause: Statement?
    }

    package struct Device: Codable, Sendable, Hashable {
        package var device: Int64
        /// Nil if the device is no longer registered.
        package var name: String?
        package var platform: String?
        package var app: String?
        package var isRegistered: Bool
        package var steps: [Line]
        /// The final or current state, as a sentence.
        package var outcome: String
        /// The same with codes and values; nil if the state is unknown.
        package var result: Ending?
    }

    package struct Account: Codable, Sendable, Hashable {
        package var account: String
        package var npub: String
        /// Steps that all its devices share.
        package var steps: [Line]
        package var devices: [Device]
        /// The result for the devices that are not listed; nil if all are listed.
        package var outcome: String?
    }

    package var event: String
    package var note: String
    package var isKnown: Bool
    /// The ID of the event's trace, if spans are exported.
    package var traceID: String?
    /// The start of the trace, RFC 3339 in UTC; nil if there is none.
    package var tracedSince: String?
    /// Steps that all accounts share.
    package var steps: [Line]
    package var accounts: [Account]
    /// Explanations of an unknown event and ways to learn more. Also the reasons why devices of the event's recipients
    /// get no notifications.
    package var advice: [String]
    /// The same as codes and values, one for each.
    package var adviceSays: [Statement]?
    /// The members that were asked; nil if the router is not in a cluster.
    package var members: MembersAsked?
}

extension EventExplanation {
    /// Merges the results of another event of the same notification. A notification to many accounts is several events.
    func joined(with other: EventExplanation) -> EventExplanation {
        guard isKnown else { return other }
        guard other.isKnown else { return self }
        var whole = self
        whole.steps += other.steps
        whole.accounts += other.accounts
        return whole
    }

    package var text: String {
        var lines = ["event \(event)", "      \(note)"]
        if let traceID { lines.append("trace \(traceID)") }
        lines += steps.map { "  \($0.text)" }
        for account in accounts {
            lines += ["", account.npub]
            lines += account.steps.map { "  \($0.text)" }
            if let outcome = account.outcome { lines.append("  → \(outcome)") }
            for device in account.devices { lines += device.lines }
        }
        if !advice.isEmpty { lines += [""] + advice }
        if let missing = members?.lines, !missing.isEmpty { lines += [""] + missing }
        return lines.joined(separator: "\n")
    }
}

extension EventExplanation.Ending {
    /// Whether more steps will follow.
    var isOpen: Bool {
        if let kind = DeliveryReport.Kind(rawValue: step) {
            return !kind.isFinal || kind == .moved
        }
        return [PipelineStep.held.rawValue, "in-turn", "unknown"].contains(step)
    }
}

extension EventExplanation.Line {
    /// Shows the time in seconds.
    fileprivate var text: String {
        "\(at.prefix(10)) \(at.dropFirst(11).prefix(8)) UTC  \(words)\(member.map { " [\($0)]" } ?? "")"
    }
}

extension EventExplanation.Device {
    fileprivate var lines: [String] {
        var title = "  device \(device)"
        if let platform, let app { title += ", \(platform)/\(app)" }
        if let name, !name.isEmpty { title += ", \(name)" }
        if !isRegistered { title += " (no longer registered)" }
        return [title] + steps.map { "    \($0.text)" } + ["    → \(outcome)"]
    }
}

/// Builds an explanation from an event's trace and the state of the outbox. Reads no files.
///
/// A delivery that is neither held, nor in the outbox, nor finished is reported as unknown.
struct Explainer {
    /// The facts in addition to the event's history.
    struct ExplainerContext {
        var traceBegan: Timestamp?
        /// The named devices that are still registered.
        var devices: [DeviceID: DeviceListing] = [:]
        /// The hold reason and time of events held for those devices, by their future delivery ID.
        var held: [DeliveryID: String] = [:]
        /// The same with codes and values.
        var holds: [DeliveryID: EventExplanation.Ending] = [:]
        /// The ``unfinished`` deliveries that are in the outbox; nil if unknown.
        var outbox: Set<DeliveryID>?
        /// The next attempt of the earlier push that a delivery waits for.
        var predecessors: [DeliveryID: Timestamp] = [:]
        /// Paused queues with deliveries.
        var pauses: [QueueName: TracedPause] = [:]
        /// The requested recipient; nil for all accounts.
        var recipient: PublicKey?
    }

    private let event: EventID
    private let history: [TraceEntry]
    private let surroundings: ExplainerContext
    /// The deliveries that a held delivery was joined into.
    private let joined: [DeliveryID: Set<DeliveryID>]

    init(event: EventID, history: [TraceEntry], surroundings: ExplainerContext) {
        self.event = event
        self.history = history
        self.surroundings = surroundings
        var joined: [DeliveryID: Set<DeliveryID>] = [:]
        for entry in history {
            guard let delivery = entry.delivery, let other = entry.joinedDelivery else { continue }
            joined[delivery, default: []].insert(other)
        }
        self.joined = joined
    }

    /// Returns the deliveries in `history` that have no final report.
    static func unfinished(_ history: [TraceEntry]) -> Set<DeliveryID> {
        var ended: Set<DeliveryID> = []
        for entry in history {
            guard let delivery = entry.delivery else { continue }
            if entry.isEnd { ended.insert(delivery) }
            // An operator may requeue a failed delivery.
            if entry.isRequeueing { ended.remove(delivery) }
        }
        return Set(history.flatMap { [$0.delivery, $0.joinedDelivery].compactMap(\.self) }).subtracting(ended)
    }

    /// Calls `advice` only if facts are missing.
    func explanation(advice: () -> [Sentence]) -> EventExplanation {
        let accounts = accounts()
        let common = history.filter { $0.event != nil && $0.account == nil }.map(line)
        let isKnown = !accounts.isEmpty || !common.isEmpty
        let needsAdvice = accounts.isEmpty && (!isKnown || surroundings.recipient != nil)
        let advice = needsAdvice ? advice() : []
        return EventExplanation(
            event: event.hex,
            note: NIP19.note(event),
            isKnown: isKnown,
            tracedSince: surroundings.traceBegan.map(\.rfc3339),
            steps: common,
            accounts: accounts,
            advice: advice.map(\.words),
            adviceSays: advice.map(\.says)
        )
    }

    /// The accounts in the history, in its order.
    var accountsNamed: [PublicKey] {
        var keys: [PublicKey] = []
        for case let account? in history.map(\.account) where !keys.contains(account) { keys.append(account) }
        return keys
    }

    private func accounts() -> [EventExplanation.Account] {
        accountsNamed.filter { $0 == surroundings.recipient ?? $0 }.map(account)
    }

    private func account(_ key: PublicKey) -> EventExplanation.Account {
        let own = history.filter { $0.account == key }
        let shared = own.filter { $0.device == nil }.map(line)
        var devices: [DeviceID] = []
        for case let device? in own.map(\.device) where !devices.contains(device) { devices.append(device) }
        return EventExplanation.Account(
            account: key.hex,
            npub: NIP19.npub(key),
            steps: shared,
            devices: devices.map { device($0, own) },
            outcome: shared.last?.words
        )
    }

    private func device(_ device: DeviceID, _ own: [TraceEntry]) -> EventExplanation.Device {
        let deliveries = deliveries(from: Set(own.filter { $0.device == device }.compactMap(\.delivery)))
        let entries = history.filter { entry in
            entry.device == device
                && (entry.event != nil ? own.contains(entry) : entry.delivery.map(deliveries.contains) ?? false)
        }
        let steps = Self.queuedFirst(entries).map(line)
        let listing = surroundings.devices[device]
        let queue = listing.map { QueueName($0.route) } ?? entries.lazy.compactMap(\.queue).last
        let (outcome, ending) = outcome(entries, deliveries, isRegistered: listing != nil, queue)
        return EventExplanation.Device(
            device: device.rawValue,
            name: listing?.slot.deviceID,
            platform: queue?.platform,
            app: queue?.app,
            isRegistered: listing != nil,
            steps: steps,
            outcome: outcome,
            result: ending
        )
    }

    /// Returns the entries with each delivery's step `queued` before its reports. The courier may report a delivery
    /// before the pipeline records that it queued it.
    private static func queuedFirst(_ entries: [TraceEntry]) -> [TraceEntry] {
        var ordered: [TraceEntry] = []
        for entry in entries {
            let report = entry.isQueueing ? ordered.firstIndex { $0.isReport && $0.delivery == entry.delivery } : nil
            ordered.insert(entry, at: report ?? ordered.endIndex)
        }
        return ordered
    }

    /// Returns `first` and all deliveries that they were joined into, directly or indirectly.
    private func deliveries(from first: Set<DeliveryID>) -> Set<DeliveryID> {
        var all = first
        var open = first
        while !open.isEmpty {
            open = Set(open.flatMap { joined[$0] ?? [] }).subtracting(all)
            all.formUnion(open)
        }
        return all
    }

    private func outcome(
        _ entries: [TraceEntry],
        _ deliveries: Set<DeliveryID>,
        isRegistered: Bool,
        _ queue: QueueName?
    ) -> (words: String, EventExplanation.Ending?) {
        let entries = entries[(entries.lastIndex(where: \.isRequeueing) ?? entries.startIndex)...]
        // A delivery's report may precede the step that queued the delivery.
        let last = entries.last(where: \.isEnd) ?? entries.last(where: \.isReport) ?? entries.last { !$0.isRemark }
        guard let last else { return ("", nil) }
        guard last.isOpen else { return ending(line(last)) }
        if let delivery = deliveries.first(where: { surroundings.held[$0] != nil }) {
            let ending = surroundings.holds[delivery] ?? EventExplanation.Ending(step: PipelineStep.held.rawValue)
            return ("held: \(surroundings.held[delivery] ?? "")", ending)
        }
        if surroundings.outbox.map(deliveries.isDisjoint) ?? false {
            guard last.isHeld, !isRegistered else {
                let words =
                    "its end is not known: it came this moment, or the router ended before it was written down, or "
                    + "there was too much to write down"
                return (words, EventExplanation.Ending(step: "unknown"))
            }
            return (PipelineStep.left.words(""), EventExplanation.Ending(step: PipelineStep.left.rawValue))
        }
        let pause = queue.flatMap { surroundings.pauses[$0] }
        guard case .report(var report) = last.what else {
            var ending = EventExplanation.Ending(step: "in-turn", pause: pause.map(PauseWords.statement))
            if let due = deliveries.lazy.compactMap({ surroundings.predecessors[$0] }).first {
                let time = max(due, pause?.pause.until ?? due)
                (ending.nextAt, ending.pause) = (time.rfc3339, nil)
                return (
                    "waits for its turn: an earlier push to this device is tried again from \(time.words) on", ending
                )
            }
            let words = "waits for its turn: no attempt has ended yet"
            return (words + (pause.map { "; " + PauseWords.words($0) } ?? ""), ending)
        }
        // A pause of the queue may last longer than the delivery's own backoff.
        guard let pause, report.nextDue.map({ $0 < pause.pause.until }) ?? true else { return ending(line(last)) }
        if report.nextDue != nil { report.nextDue = pause.pause.until }
        var end = ending(line(last)).ending
        end.nextAt = report.nextDue.map(\.rfc3339)
        end.pause = PauseWords.statement(pause)
        return (ReportWords.words(report, reason: last.reason) + "; " + PauseWords.words(pause), end)
    }

    /// Returns the state that a line describes.
    private func ending(_ line: EventExplanation.Line) -> (words: String, ending: EventExplanation.Ending) {
        let ending = EventExplanation.Ending(
            step: line.step,
            reason: line.reason,
            platform: line.platform,
            app: line.app,
            status: line.status,
            attempt: line.attempt,
            nextAt: line.nextAt
        )
        return (line.words, ending)
    }

    private func line(_ entry: TraceEntry) -> EventExplanation.Line {
        var line = EventExplanation.Line(
            at: entry.time.rfc3339,
            step: "",
            words: "",
            reason: entry.reason.isEmpty ? nil : entry.reason,
            delivery: entry.delivery?.description,
            member: entry.member
        )
        switch entry.what {
        case .step(let word):
            line.step = word
            line.words = PipelineStep(rawValue: word)?.words(entry.reason) ?? word
        case .report(let report):
            line.step = report.kind
            line.words = ReportWords.words(report, reason: entry.reason)
            line.platform = report.queue.platform
            line.app = report.queue.app
            line.status = report.status == 0 ? nil : report.status
            line.attempt = report.attempt
            line.nextAt = report.nextDue.map(\.rfc3339)
        }
        return line
    }
}

extension TraceEntry {
    private static let openSteps: Set<PipelineStep> = [.queued, .held, .batched, .released, .joined]

    private var report: Report? { if case .report(let report) = what { report } else { nil } }
    private var kind: DeliveryReport.Kind? { report.flatMap { DeliveryReport.Kind(rawValue: $0.kind) } }
    private var pipelineStep: PipelineStep? {
        if case .step(let word) = what { PipelineStep(rawValue: word) } else { nil }
    }

    /// Whether this is the final report of a delivery. A moved delivery continues in another queue.
    fileprivate var isEnd: Bool { kind.map { $0.isFinal && $0 != .moved } ?? false }
    fileprivate var isReport: Bool { report != nil }
    fileprivate var isQueueing: Bool { pipelineStep == .queued && delivery != nil }
    fileprivate var queue: QueueName? { report?.queue }
    /// Whether an operator requeued the delivery.
    fileprivate var isRequeueing: Bool { kind == .requeued }
    /// Whether more steps will follow.
    fileprivate var isOpen: Bool { pipelineStep.map(Self.openSteps.contains) ?? kind.map { !$0.isFinal } ?? false }
    /// Whether this is a remark, which does not change the state.
    fileprivate var isRemark: Bool { pipelineStep?.isRemark ?? false }
    fileprivate var isHeld: Bool { pipelineStep == .held || pipelineStep == .batched }
}
