import Cipher
import Console
import Core
import Delivery
import JSON
import NIOCore
import Nostr
import Pipeline
import PluginHost
import Push
import RouterConfiguration
import Rules

/// Endpoints for notifications from senders that do not use Nostr.
struct NotifyAPI {
    let notifier: Notifier
    let view: MemberView
    let plugins: PluginHost
    let rules: @Sendable () -> (configuration: Configuration, book: RuleBook)

    var operations: [APIOperation] { [send, show] }

    private var send: APIOperation {
        let loaded = NotifyRequest.LoadedPlatforms(plugins)
        var operation = APIOperation(
            APIEndpoint(
                .post,
                "/v1/notify",
                for: .scope(.send),
                [
                    .header(
                        "idempotency-key",
                        .text(255),
                        "A name for the request. If you repeat the request with it within a day, you get the same response."
                    )
                ],
                body: APIBody(limit: NotifyRequest.longest),
                isBrief: true
            ) { [notifier, rules] call in
                guard case .agent(let sender, _)? = call.principal else { throw APIError(401, "expected a token") }
                let origin = Notifier.Origin(sender: sender, key: call.field("idempotency-key"))
                let answer = try await notifier.send(Array(call.body.readableBytesView), from: origin) {
                    let (configuration, book) = rules()
                    return try NotifyRequest(call.body, loaded.terms(book, apps: configuration.appNames))
                }
                switch answer {
                case .tried(let trial): return ConsoleAnswer(body: trial.json + "\n")
                case .sent(let receipt):
                    var answer = ConsoleAnswer(status: 202, body: receipt.json + "\n")
                    answer.fields["location"] = "/v1/notify/\(receipt.id)"
                    return answer
                }
            },
            .notify,
            "Sends a notification. Responds when all its pushes are on disk.",
            .json(AnswerSchema.of(NotifyReceipt.self)),
            body: Self.schema(plugins.platformCatalog.blocks.map(\.key))
        )
        operation.status = 202
        operation.others = [(200, "For `dry_run`: the number of recipients.", AnswerSchema.of(NotifyTrial.self))]
        return operation
    }

    private var show: APIOperation {
        .report(
            .get("/v1/notify/{id}", for: .scope(.send)),
            .notify,
            "Returns the result of a notification for each device. Only its sender may read it.",
            [
                .path("id", .plain(32), "The `id` from POST /v1/notify."),
                .query("after", .integer(0...1_000_000), "`next` of the previous response."),
            ]
        ) { [notifier, view] call in
            guard case .agent(let sender, _)? = call.principal else { throw APIError(401, "expected a token") }
            let record = try await notifier.record(call.path("id"), of: sender)
            let number = call.query["after"].flatMap { Int($0) } ?? 0
            let event = record.events.dropFirst(number).first
            var explanation: EventExplanation?
            if let event { explanation = try await view.explain(Hex.encode(event), recipient: nil) }
            return NotifyReport(
                record,
                explanation,
                next: number + 1 < record.events.count ? number + 1 : nil
            )
        }
    }

    /// The schema of a request, apart from the parts that it shares with rules (rules.md).
    private static func schema(_ blocks: [String]) -> JSONValue {
        let text: JSONValue = ["type": "string", "minLength": 1]
        let words = LocalizedTextSchema.textOrKey
        let action: JSONValue = [
            "type": "object", "required": ["id", "label"], "additionalProperties": .bool(false),
            "properties": ["id": text, "label": LocalizedTextSchema.text, "url": text, "icon": text],
        ]
        let object: JSONValue = ["type": "object"]
        let data: JSONValue = [
            "type": "object", "maxProperties": .number(CustomKeys.maxMembers),
            "description": "Keys for the app, next to the notification's own.",
        ]
        let values: JSONValue = [
            "type": "object", "maxProperties": .number(NotifyRequest.maxValues),
            "additionalProperties": ["type": "string", "maxLength": .number(NotifyRequest.longestValue)],
        ]
        let most: JSONValue = .number(NotifyRequest.maxRecipients)
        let to: JSONValue = [
            "type": "object", "additionalProperties": .bool(false),
            "description": "Exactly one of device, devices, account, accounts, group, tag and everybody.",
            "properties": [
                "device": ["type": "integer", "minimum": 1],
                "devices": [
                    "type": "array", "items": ["type": "integer", "minimum": 1], "minItems": 1, "maxItems": most,
                ],
                "account": text,
                "accounts": ["type": "array", "items": text, "minItems": 1, "maxItems": most],
                "group": ["type": "string", "description": "A group of the app's users, see /v1/groups."],
                "tag": ["type": "string", "description": "A signal that rules name: all devices that switched it on."],
                "everybody": ["type": "boolean"], "app": text, "platform": text,
            ],
        ]
        var members: [(key: String, value: JSONValue)] = [
            ("to", to), ("title", words), ("subtitle", words), ("body", words), ("category", text), ("thread", text),
            ("collapse", text), ("url", text),
            ("actions", ["type": "array", "items": action, "minItems": 1, "maxItems": 4]),
            ("data", data),
            ("urgency", ["type": "string", "enum": .texts(Urgency.allCases.map(\.name))]),
            ("mode", ["type": "string", "enum": .texts(Mode.allCases.map(\.name))]),
            ("expires", ["type": "string", "description": "A duration from 1m to 28d, such as 4h."]),
            ("pace", text), ("key", text),
            ("signal", ["type": "string", "description": "Devices that switched it off get no notification."]),
            ("template", ["type": "string", "description": "The name of a rule, instead of all texts."]),
            ("values", values), ("native", object),
            (
                "dry_run",
                ["type": "boolean", "description": "Sends nothing; the response (200) counts the recipients."]
            ),
        ]
        members += blocks.map { ($0, object) }
        return [
            "type": "object", "required": ["to"], "additionalProperties": .bool(false), "properties": .members(members),
        ]
    }
}

/// The receipt for a notification, with the number of devices.
struct NotifyReceipt: OperatorAnswer, Equatable {
    var id: String
    var createdAt: String
    /// Registered recipients; this and the next three are nil if the router stopped while it processed the request.
    var devices: Int?
    /// Devices that get a push now.
    var queued: Int?
    /// Devices whose push waits for a cooldown, quiet hours, a daily cap or the end of an earlier push.
    var held: Int?
    /// The time when the last of these is due; nil if none is held, or the time is unknown.
    var heldUntil: String?
    /// True if a member did not report its part, so that these counts are too low; nil if they are complete.
    var partial: Bool?
    /// Devices in the request that are not registered; nil if all are registered.
    var unknown: [Int64]?

    private enum CodingKeys: String, CodingKey {
        case id, createdAt, devices, queued, held, heldUntil, partial, unknown
    }

    /// The rest of the response as JSON, made after the pipeline processed the notification.
    private var members: String?

    init(_ record: RequestRecord) {
        id = Hex.encode(record.id)
        createdAt = record.createdAt.rfc3339
        members = record.answer
    }

    var text: String { id }

    /// Builds the JSON without an encoder, which would take longer than parsing a request.
    var json: String {
        var json = JSONLine()
        json.add("created_at", createdAt)
        json.add("id", id)
        guard let members else { return json.text }
        return "\(json.text.dropLast()),\(members.dropFirst())"
    }

    /// Returns the fields other than ID and time; nil if there are none.
    static func members(_ counts: NotificationOrder.Counts?, unknown: [DeviceID]) -> String? {
        var json = JSONLine()
        if let counts {
            json.add("devices", Int64(counts.devices))
            json.add("queued", Int64(counts.queued))
            json.add("held", Int64(counts.held))
            json.add("held_until", counts.heldUntil.map(\.rfc3339))
            if counts.isPartial { json.add("partial", flag: true) }
        }
        if !unknown.isEmpty { json.add("unknown", unknown.map(\.rawValue)) }
        return json.members.isEmpty ? nil : json.text
    }
}

/// The number of recipients of a dry run.
struct NotifyTrial: OperatorAnswer, Equatable {
    var accounts: Int
    /// Registered devices, including those that switched the signal off.
    var devices: Int
    /// Devices in the request that are not registered; nil if all are registered.
    var unknown: [Int64]?

    init(accounts: Int, devices: Int, _ unknown: [DeviceID]) {
        self.accounts = accounts
        self.devices = devices
        self.unknown = unknown.isEmpty ? nil : unknown.map(\.rawValue)
    }

    var text: String { "\(devices) devices of \(accounts) accounts" }
}

/// The results of a notification.
struct NotifyReport: OperatorAnswer, Equatable {
    struct Device: Codable, Sendable, Equatable {
        var device: Int64
        var platform: String?
        var app: String?
        /// The last step in one word, such as `queued`, `held`, `filtered`, `delivered`, `gone` or `rejected`.
        var state: String
        var at: String
        var words: String
        /// The push service's reason, or a filter plugin's.
        var reason: String?
        /// The push service's HTTP status.
        var status: Int?
        /// The earliest time of the next attempt.
        var nextAt: String?
    }

    var id: String
    var createdAt: String
    /// Whether all listed devices have their final result. False without a trace, and if the router stopped while it
    /// processed the request; the sender then repeats it with the same Idempotency-Key.
    var isComplete: Bool
    /// The start of the trace; nil if there is no trace, and then no device is listed.
    var tracedSince: String?
    /// The number of listed devices in each state.
    var states: [String: Int]
    var devices: [Device]
    /// Devices in the request that are not registered; nil if all are registered.
    var unknown: [Int64]?
    /// The value for the parameter `after`; nil on the last page.
    var next: Int?

    init(_ record: RequestRecord, _ explanation: EventExplanation?, next: Int?) {
        id = Hex.encode(record.id)
        createdAt = record.createdAt.rfc3339
        tracedSince = explanation?.tracedSince
        self.next = next
        let all = (explanation?.accounts ?? []).flatMap(\.devices)
        devices = all.compactMap { device in
            let last = device.steps.last { $0.step != PipelineStep.valueLeftOut.rawValue }
            return last.map { last in
                Device(
                    device: device.device,
                    platform: device.platform,
                    app: device.app,
                    state: last.step,
                    at: last.at,
                    words: device.outcome,
                    reason: last.reason,
                    status: last.status,
                    nextAt: device.result?.nextAt
                )
            }
        }
        states = devices.reduce(into: [:]) { $0[$1.state, default: 0] += 1 }
        let counts = record.answer.flatMap { try? JSONValue(parsing: $0) }
        unknown = counts?.unknownDevices
        isComplete =
            !record.events.isEmpty && !all.contains { $0.result?.isOpen ?? false }
            && (tracedSince != nil || counts?.isForNobody ?? false)
    }
}

extension JSONValue {
    /// The unregistered devices in the counts, which are fields of a ``NotifyReceipt``.
    fileprivate var unknownDevices: [Int64]? {
        guard case .object(let object) = self, case .array(let values)? = object["unknown"] else { return nil }
        return values.compactMap { if case .number(let digits) = $0 { Int64(digits) } else { nil } }
    }

    fileprivate var isForNobody: Bool {
        guard case .object(let object) = self else { return false }
        return object["devices"] == .number("0") && object["partial"] == nil
    }
}

extension Configuration {
    /// The names of all apps that devices may belong to.
    var appNames: [String] { Set(apps.keys).union(sealedIngress.map { [$0.app] } ?? []).sorted() }
}
