import Console
import Core
import Delivery
import Nostr
import Observability
import Push

/// A request for the history of an event.
struct EventQuestion: Codable, Sendable, Equatable {
    /// As 64 hex digits, note1… or nevent1….
    var event: String
    /// Limits the answer to this recipient; `nil` for all recipients.
    var recipient: String?
}

/// A member's data about an event.
struct EventFacts: Codable, Sendable, Equatable {
    /// A ``TraceEntry`` as members exchange it.
    struct Entry: Codable, Sendable, Equatable {
        struct Report: Codable, Sendable, Equatable {
            var kind: String
            var platform: String
            var app: String
            var status: Int
            var attempt: Int
            var nextDue: Int64?
        }

        var time: Int64
        /// The code of a step; `nil` if the entry is a report.
        var step: String?
        var report: Report?
        var event: String?
        var account: String?
        var device: Int64?
        var delivery: DeliveryID?
        var reason: String
    }

    var history: [Entry] = []
    /// When the member's trace starts, in milliseconds since 1970; `nil` if tracing is off or the trace is empty.
    var began: Int64?
    /// Why the member's trace cannot be read.
    var fault: String?
    /// Whether the trace file does not exist yet, which is normal; `nil` means no.
    var isTraceMissing: Bool?
    var wasAccepted = false
    /// Whether the member has data for other recipients.
    var isKnownOtherwise = false
    /// Descriptions of the event's queued deliveries.
    var waiting: [String] = []
}

/// A request for the state of deliveries that have no result in any member's trace.
struct DeliveryQuestion: Codable, Sendable, Equatable {
    var deliveries: [DeliveryID]
    var devices: [Int64]
}

/// A member's data about these deliveries.
struct DeliveryFacts: Codable, Sendable, Equatable {
    struct Pause: Codable, Sendable, Equatable {
        var platform: String
        var app: String
        var cause: String
        var reason: String
        var until: Int64
        var since: Int64
    }

    /// The deliveries in the member's outbox; `nil` if it cannot be read.
    var contained: [DeliveryID]?
    /// When the earlier push that blocks a delivery is retried.
    var predecessors: [DeliveryID: Int64] = [:]
    /// Why and until when held events wait, in a sentence, by their future delivery.
    var held: [DeliveryID: String] = [:]
    /// The same with code and values.
    var holds: [DeliveryID: EventExplanation.Ending] = [:]
    var pauses: [Pause] = []
}

extension EventFacts.Entry {
    init(_ entry: TraceEntry) {
        time = entry.time.milliseconds
        switch entry.what {
        case .step(let word): step = word
        case .report(let found):
            report = Report(
                kind: found.kind,
                platform: found.queue.platform,
                app: found.queue.app,
                status: found.status,
                attempt: found.attempt,
                nextDue: found.nextDue?.milliseconds
            )
        }
        event = entry.event?.hex
        account = entry.account?.hex
        device = entry.device?.rawValue
        delivery = entry.delivery
        reason = entry.reason
    }

    /// Returns `nil` if the entry is neither a step nor a report.
    func entry(of member: String?) -> TraceEntry? {
        let what: TraceEntry.Content
        if let step {
            what = .step(step)
        } else if let report {
            what = .report(
                TraceEntry.Report(
                    kind: report.kind,
                    queue: QueueName(platform: report.platform, app: report.app),
                    status: report.status,
                    attempt: report.attempt,
                    nextDue: report.nextDue.map(Timestamp.init(milliseconds:))
                )
            )
        } else {
            return nil
        }
        var entry = TraceEntry(
            time: Timestamp(milliseconds: time),
            what: what,
            event: event.flatMap { EventID(hex: $0) },
            account: account.flatMap { PublicKey(hex: $0) },
            device: device.map(DeviceID.init(rawValue:)),
            delivery: delivery,
            reason: reason
        )
        entry.member = member
        return entry
    }
}

extension EventFacts {
    /// Returns the entries of all members in chronological order.
    static func history(_ members: [(member: String, answer: EventFacts)]) -> [TraceEntry] {
        let entries = members.flatMap { member, facts in
            facts.history.compactMap { $0.entry(of: member.isEmpty ? nil : member) }
        }
        // Each member's entries are in order; across members the order depends on their clocks.
        guard members.count > 1 else { return entries }
        return entries.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
            .map(\.element)
    }
}

extension DeliveryQuestion {
    /// Asks about the deliveries that the members' histories leave unfinished.
    init(about events: [(member: String, answer: EventFacts)]) {
        let history = EventFacts.history(events)
        deliveries = Explainer.unfinished(history).sorted { $0.description < $1.description }
        devices = Set(history.compactMap(\.device)).map(\.rawValue).sorted()
    }
}

extension DeliveryFacts.Pause {
    init(_ paused: TracedPause) {
        (platform, app) = (paused.pause.queue.platform, paused.pause.queue.app)
        (cause, reason) = (paused.pause.cause == .asked ? "asked" : "misconfigured", paused.pause.reason)
        (until, since) = (paused.pause.until.milliseconds, paused.since.milliseconds)
    }

    fileprivate var pause: TracedPause {
        let pause = QueuePause(
            queue: QueueName(platform: platform, app: app),
            until: Timestamp(milliseconds: until),
            reason: reason,
            cause: cause == "asked" ? .asked : .misconfigured
        )
        return TracedPause(pause, since: Timestamp(milliseconds: since))
    }
}

extension Explainer.ExplainerContext {
    /// Adds the members' data. `isWhole` is whether all members responded, so the outbox is complete.
    mutating func take(_ members: [DeliveryFacts], isWhole: Bool) {
        outbox = isWhole ? [] : nil
        for facts in members {
            if let contained = facts.contained { outbox?.formUnion(contained) } else { outbox = nil }
            predecessors.merge(facts.predecessors.mapValues(Timestamp.init(milliseconds:)), uniquingKeysWith: max)
            held.merge(facts.held) { first, _ in first }
            holds.merge(facts.holds) { first, _ in first }
            for pause in facts.pauses.map(\.pause) {
                let known = pauses[pause.pause.queue]
                if known.map({ $0.pause.until < pause.pause.until }) ?? true { pauses[pause.pause.queue] = pause }
            }
        }
    }
}

/// A device's data that only the member that pushes to it has.
struct DeviceFacts: Codable, Sendable, Equatable {
    /// The data of the member that owns the account's partition.
    struct Owned: Codable, Sendable, Equatable {
        var pace: DevicePaceOverview?
        var waiting: Int?
        var queuePause: String?
        var pauseMessage: Statement?
    }

    var device: Int64
    var lastSuccess: DeviceOverview.Push?
    var lastError: DeviceOverview.Push?
    var owned: Owned?

    init(device: Int64) { self.device = device }

    init(_ overview: DeviceOverview, isOwner: Bool) {
        device = overview.device
        (lastSuccess, lastError) = (overview.lastSuccess, overview.lastError)
        if isOwner {
            owned = Owned(
                pace: overview.pace,
                waiting: overview.waiting,
                queuePause: overview.queuePause,
                pauseMessage: overview.pauseMessage
            )
        }
    }

    /// Joins all members' data about the same device.
    static func together(_ members: [DeviceFacts]) -> DeviceFacts {
        var facts = DeviceFacts(device: members.first?.device ?? 0)
        // RFC 3339 times in UTC sort as strings.
        facts.lastSuccess = members.compactMap(\.lastSuccess).max { $0.at < $1.at }
        facts.lastError = members.compactMap(\.lastError).max { $0.at < $1.at }
        facts.owned = members.compactMap(\.owned).first
        return facts
    }
}

extension DeviceOverview {
    /// Returns the device with the data of all members.
    func with(_ members: [DeviceFacts]) -> DeviceOverview {
        var overview = self
        let facts = DeviceFacts.together(members)
        (overview.lastSuccess, overview.lastError) = (facts.lastSuccess, facts.lastError)
        let owned = facts.owned
        (overview.pace, overview.waiting) = (owned?.pace, owned?.waiting)
        (overview.queuePause, overview.pauseMessage) = (owned?.queuePause, owned?.pauseMessage)
        return overview
    }
}
