import Console
import Core
import Delivery
import JSON
import Nostr
import Observability
import Pipeline
import Push
import RouterConfiguration
import Rules

/// An entry of the live stream. Contains neither content nor tokens.
struct LiveEntry: Sendable {
    /// The kinds for a reader's filter; the `event` of a server-sent event.
    enum Kind: String, CaseIterable {
        /// A step of an event in the pipeline.
        case step
        /// A decision about a delivery.
        case outcome
        /// The start or the end of an issue.
        case issue
        /// An operational event.
        case operation
    }

    enum Content: Sendable {
        case step(TraceStep)
        case outcome(DeliveryReport)
        case issue(RouterStatus.Issue, isResolved: Bool)
        case operation(OperationalEvent)
        /// An entry of another member, which encoded it.
        case elsewhere(Kind, DeviceID?, json: String)
    }

    let time: Timestamp
    let what: Content
    /// The event and its recipient. For an outcome, they are looked up later and may stay unknown.
    var event: EventID?
    var account: PublicKey?
    /// For a step, this is looked up only if a filter needs it.
    var queue: QueueName?
    /// The member that made the entry; nil if the router is not in a cluster.
    var member: String?

    init(_ step: TraceStep, at time: Timestamp) {
        self.time = time
        what = .step(step)
        event = step.event
        account = step.account
    }

    init(_ report: DeliveryReport, at time: Timestamp) {
        self.time = time
        what = .outcome(report)
        queue = report.queue
    }

    init(_ issue: RouterStatus.Issue, isResolved: Bool, at time: Timestamp) {
        self.time = time
        what = .issue(issue, isResolved: isResolved)
    }

    init(_ event: OperationalEvent) {
        time = event.time
        what = .operation(event)
        queue = event.queue
    }

    /// Parses a line of a ``LiveFrame``. Nil if it is invalid.
    init?(line: String, of member: String) {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
        guard fields.count == 8, let kind = Kind(rawValue: String(fields[0])), let time = Int64(fields[1]),
            fields[7].first == "{", fields[7].last == "}", !fields[7].utf8.contains(where: { $0 < 0x20 })
        else { return nil }
        self.time = Timestamp(milliseconds: time)
        let device = Int64(fields[4]).map { DeviceID(rawValue: $0) }
        what = .elsewhere(kind, device, json: String(fields[7]))
        event = Bytes32(hex: fields[2]).map { EventID($0) }
        account = PublicKey(hex: fields[3])
        queue = fields[5].isEmpty ? nil : QueueName(platform: String(fields[5]), app: String(fields[6]))
        self.member = member
    }

    /// Whether another member made the entry.
    var isElsewhere: Bool { if case .elsewhere = what { true } else { false } }

    var kind: Kind {
        switch what {
        case .step: .step
        case .outcome: .outcome
        case .issue: .issue
        case .operation: .operation
        case .elsewhere(let kind, _, _): kind
        }
    }

    var device: DeviceID? {
        switch what {
        case .step(let step): step.device
        case .outcome(let report): report.device
        case .issue: nil
        case .operation(let event): event.device
        case .elsewhere(_, let device, _): device
        }
    }

    var delivery: DeliveryID? {
        switch what {
        case .step(let step): step.delivery
        case .outcome(let report): report.delivery
        case .issue, .operation, .elsewhere: nil
        }
    }

    /// The entry as JSON on one line.
    var json: String {
        if case .elsewhere(_, _, let json) = what { return json }
        var json = JSONLine()
        json.add("at", time.rfc3339)
        json.add("member", member)
        json.add("event", event?.hex)
        json.add("account", account?.hex)
        json.add("device", device.map { Int64($0.rawValue) })
        json.add("delivery", delivery?.description)
        json.add("platform", queue?.platform)
        json.add("app", queue?.app)
        switch what {
        case .step(let step):
            json.add("step", step.step.rawValue)
            json.add("reason", step.reason.isEmpty ? nil : step.reason)
            json.add("words", step.step.words(step.reason))
        case .outcome(let report):
            json.add("outcome", report.kind.rawValue)
            json.add("reason", report.reason.isEmpty ? nil : report.reason)
            json.add("status", report.status == 0 ? nil : Int64(report.status))
            json.add("attempt", Int64(report.attempt))
            json.add("mode", report.mode?.name)
            json.add("next_at", report.nextDue.map(\.rfc3339))
            json.add("words", ReportWords.words(TraceEntry.Report(report), reason: report.reason))
        case .issue(let issue, let isResolved):
            json.add("code", issue.code)
            json.add("words", issue.message)
            json.add("params", issue.params)
            json.add("fix", issue.fix)
            json.add("severity", issue.severity.rawValue)
            json.add("resolved", flag: isResolved)
        case .operation(let event):
            json.add("type", event.kind.rawValue)
            json.add("words", event.words)
            for detail in event.details { json.add(detail.name, detail.value) }
        case .elsewhere: break
        }
        return json.text
    }

    /// The schemas of entries by kind.
    static let schema: JSONValue = .members(
        Kind.allCases.map { kind in (kind.rawValue, schema(of: kind)) } + [("lost", LiveGap.schema)]
    )

    private static func schema(of kind: Kind) -> JSONValue {
        let text: JSONValue = ["type": "string"]
        let number: JSONValue = ["type": "integer"]
        let common: [(key: String, value: JSONValue)] = [
            ("at", text), ("member", text), ("event", text), ("account", text), ("device", number), ("delivery", text),
            ("platform", text), ("app", text), ("reason", text), ("words", text),
        ]
        let (own, required): ([(key: String, value: JSONValue)], [String]) =
            switch kind {
            case .step: ([("step", text)], ["at", "step", "words"])
            case .outcome:
                (
                    [
                        ("outcome", text), ("status", number), ("attempt", number), ("mode", text), ("next_at", text),
                    ],
                    ["at", "device", "delivery", "platform", "app", "outcome", "attempt", "words"]
                )
            case .issue:
                (
                    [
                        ("code", text), ("params", AnswerSchema.of(Statement.self)), ("fix", text),
                        ("severity", AnswerSchema.of(RouterStatus.Issue.Severity.self)),
                        ("resolved", ["type": "boolean"]),
                    ],
                    ["at", "code", "words", "fix", "severity", "resolved"]
                )
            case .operation:
                (
                    [("type", ["type": "string", "enum": .texts(OperationalEvent.Kind.allCases.map(\.rawValue))])]
                        + OperationalEvent.detailNames.filter { $0 != "reason" }.map { ($0, text) },
                    ["at", "type", "words"]
                )
            }
        return [
            "type": "object", "required": .texts(required), "additionalProperties": .bool(false),
            "properties": .members(common + own),
        ]
    }
}

/// Entries that a reader does not get.
struct LiveGap: Sendable, Equatable {
    enum Cause: String, CaseIterable {
        /// The reader is too slow, or the entries exceed a frame's limit.
        case slow
        /// The reader's last entry is older than the kept entries.
        case old
        /// The router restarted, or there were no readers for a while.
        case restart
        /// A member is silent, or restarted.
        case member
    }

    let cause: Cause
    /// The maximum number of entries; nil if unknown.
    let count: Int?
    /// The member that made the entries; nil for the reader's own member, or all.
    var member: String?

    var json: String {
        var json = JSONLine()
        json.add("why", cause.rawValue)
        json.add("count", count.map(Int64.init))
        json.add("member", member)
        return json.text
    }

    static let schema: JSONValue = [
        "type": "object", "required": ["why"], "additionalProperties": .bool(false),
        "properties": [
            "why": ["type": "string", "enum": .texts(Cause.allCases.map(\.rawValue))],
            "count": ["type": "integer", "minimum": 1],
            "member": ["type": "string"],
        ],
    ]
}

/// A reader's filter; a nil member matches all entries.
struct LiveFilter: Hashable, Sendable {
    var kinds: Set<LiveEntry.Kind>?
    var platform: String?
    var app: String?
    var event: EventID?
    var account: PublicKey?
    var member: String?

    var needsQueue: Bool { platform != nil || app != nil }

    func takes(_ entry: LiveEntry) -> Bool {
        (kinds?.contains(entry.kind) ?? true) && (event.map { $0 == entry.event } ?? true)
            && (account.map { $0 == entry.account } ?? true)
            && (member.map { $0 == entry.member } ?? true)
            && (platform.map { $0 == entry.queue?.platform } ?? true) && (app.map { $0 == entry.queue?.app } ?? true)
    }
}

/// A JSON object that is built member by member, because an encoder is too slow for thousands of entries per second.
struct JSONLine {
    private(set) var members = ""

    var text: String { "{\(members)}" }

    mutating func add(_ name: String, _ value: String?) {
        if let value { add(name, json: JSONText.quoted(value)) }
    }

    mutating func add(_ name: String, _ value: Int64?) {
        if let value { add(name, json: String(value)) }
    }

    mutating func add(_ name: String, _ value: Statement?) {
        if let value { add(name, json: value.json) }
    }

    mutating func add(_ name: String, _ values: [Int64]) {
        add(name, json: "[\(values.map(String.init).joined(separator: ","))]")
    }

    mutating func add(_ name: String, flag: Bool) { add(name, json: flag ? "true" : "false") }

    private mutating func add(_ name: String, json: String) {
        members += "\(members.isEmpty ? "" : ",")\"\(name)\":\(json)"
    }
}

/// The endpoint of the live stream.
struct StreamAPI {
    let stream: LiveStream

    var operations: [APIOperation] { [live] }

    private var live: APIOperation {
        APIOperation(
            APIEndpoint(
                .get,
                "/v1/stream",
                for: .scope(.read),
                [
                    .query("kind", .plain(100), "Only these kinds, separated by commas: \(Self.kinds)."),
                    .query("platform", .text(64), "Only this platform."),
                    .query("app", .text(64), "Only this app."),
                    .query("event", .text(1_000), "Only this event: 64 hex digits, note1… or nevent1…, or a link."),
                    .query("account", .text(100), "Only this account: 64 hex digits or npub1…."),
                    .query("member", .text(64), "Only this member."),
                    .header("last-event-id", .text(64), "The `id` of the last entry that you received."),
                ]
            ) { [stream] call in
                let reader: LiveReader
                do {
                    reader = try stream.open(
                        Self.filter(call),
                        for: call.principal,
                        after: call.field("last-event-id")
                    )
                } catch let failure as OperationError {
                    throw APIError(failure)
                }
                return ConsoleAnswer(live: reader, contentType: "text/event-stream")
            },
            .now,
            "Streams the router's activity as server-sent events: ids and messages, never content.",
            .events(LiveEntry.schema)
        )
    }

    private static var kinds: String { LiveEntry.Kind.allCases.map(\.rawValue).joined(separator: ", ") }

    private static func filter(_ call: APICall) throws -> LiveFilter {
        var filter = LiveFilter()
        if let text = call.query["kind"] {
            filter.kinds = try Set(
                text.split(separator: ",", omittingEmptySubsequences: false).map { word in
                    guard let kind = LiveEntry.Kind(rawValue: String(word)) else {
                        throw APIError(400, "kind: expected \(kinds)")
                    }
                    return kind
                }
            )
        }
        filter.platform = call.query["platform"]
        filter.app = call.query["app"]
        filter.member = call.query["member"]
        filter.event = try call.query["event"].map(OperatorWords.event)
        filter.account = try call.query["account"].map { try OperatorWords.key($0, "account") }
        return filter
    }
}
