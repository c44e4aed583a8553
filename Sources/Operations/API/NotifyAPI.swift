import Cipher
import Console
import Delivery
import NIOCore
import Nostr
import Notifications
import Pipeline
import Platforms
import PluginHost
import RouterConfiguration
import Rules
import Units

/// Notifications that somebody asks for who is not on Nostr.
struct NotifyAPI {
    let notifier: Notifier
    let view: ClusterView
    let plugins: PluginHost
    let rules: @Sendable () -> (configuration: Configuration, book: RuleBook)

    var operations: [APIOperation] { [send, show] }

    private var send: APIOperation {
        let loaded = NotifyRequest.LoadedPlatforms(plugins)
        return APIOperation(
            APIEndpoint(
                .post,
                "/v1/notify",
                for: .scope(.send),
                [
                    .header(
                        "idempotency-key",
                        .text(255),
                        "A name for the request: sent again under it within a day, it is answered as before."
                    )
                ],
                body: APIBody(limit: NotifyRequest.longest),
                isBrief: true
            ) { [notifier, rules] call in
                guard case .agent(let sender, _)? = call.principal else { throw APIProblem(401, "expected a token") }
                let origin = Notifier.Origin(sender: sender, key: call.field("idempotency-key"))
                let receipt = try await notifier.send(Array(call.body.readableBytesView), from: origin) {
                    let (configuration, book) = rules()
                    return try NotifyRequest(call.body, loaded.terms(book, apps: configuration.appNames))
                }
                var answer = ConsoleAnswer(status: 202, body: NotifyReceipt(receipt).json + "\n")
                answer.fields["location"] = "/v1/notify/\(receipt.id)"
                return answer
            },
            .notify,
            "Sends a notification. Answers when all that it leads to is on disk.",
            .json(AnswerSchema.of(NotifyReceipt.self)),
            status: 202,
            body: Self.schema(plugins.platformCatalog.blocks.map(\.key))
        )
    }

    private var show: APIOperation {
        .report(
            .get,
            "/v1/notify/{id}",
            for: .scope(.send),
            .notify,
            "What became of a notification, for each device. Only who sent it sees that.",
            [
                .path("id", .plain(32), "The `id` of the answer to sending it."),
                .query("after", .integer(0...1_000_000), "`next` of the answer before."),
            ]
        ) { [notifier, view] call in
            guard case .agent(let sender, _)? = call.principal else { throw APIProblem(401, "expected a token") }
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

    /// What a request says, besides what rules say in the same words (rules.md).
    private static func schema(_ blocks: [String]) -> JSONTree {
        let text: JSONTree = ["type": "string", "minLength": 1]
        let any: JSONTree = [:]
        let object: JSONTree = ["type": "object"]
        let most: JSONTree = .number(Double(NotifyRequest.mostRecipients))
        let to: JSONTree = [
            "type": "object", "additionalProperties": .flag(false),
            "description": "Exactly one of device, devices, account, accounts, group, tag and everybody.",
            "properties": [
                "device": ["type": "integer", "minimum": 1],
                "devices": [
                    "type": "array", "items": ["type": "integer", "minimum": 1], "minItems": 1, "maxItems": most,
                ],
                "account": text,
                "accounts": ["type": "array", "items": text, "minItems": 1, "maxItems": most],
                "group": ["type": "string", "description": "A group of the app's users, see /v1/groups."],
                "tag": ["type": "string", "description": "A signal that rules name: devices that switched it on."],
                "everybody": ["type": "boolean"], "app": text, "platform": text,
            ],
        ]
        var members: [(key: String, value: JSONTree)] = [
            ("to", to), ("title", any), ("subtitle", any), ("body", any), ("category", text), ("thread", text),
            ("collapse", text), ("url", text), ("actions", ["type": "array", "items": object]), ("data", object),
            ("urgency", ["type": "string", "enum": .texts(Urgency.allCases.map(\.name))]),
            ("mode", ["type": "string", "enum": .texts(Mode.allCases.map(\.name))]),
            ("expires", ["type": "string", "description": "From 1m to 28d, as in 4h."]),
            ("pace", text), ("key", text),
            ("signal", ["type": "string", "description": "Devices that switched it off are not woken."]),
            ("template", ["type": "string", "description": "The name of a rule, in place of all texts."]),
            ("values", ["type": "object", "additionalProperties": ["type": "string"]]), ("native", object),
        ]
        members += blocks.map { ($0, object) }
        return [
            "type": "object", "required": ["to"], "additionalProperties": .flag(false), "properties": .object(members),
        ]
    }
}

/// That a notification is on its way.
struct NotifyReceipt: OperatorAnswer, Equatable {
    var id: String
    var createdAt: String

    init(_ receipt: Notifier.Receipt) {
        id = receipt.id
        createdAt = UTCTime(receipt.createdAt).stamp
    }

    var text: String { id }

    /// As an encoder writes it, which takes longer than all that reads a request.
    var json: String {
        var json = JSONLine()
        json.add("created_at", createdAt)
        json.add("id", id)
        return json.text
    }
}

/// What became of a notification.
struct NotifyReport: OperatorAnswer, Equatable {
    struct Device: Codable, Sendable, Equatable {
        var device: Int64
        var platform: String?
        var app: String?
        /// One word: the last step, such as `queued`, `held`, `filtered`, `delivered`, `gone` or `rejected`.
        var state: String
        var at: String
        var words: String
        /// What the push service said, or why a filter stopped it.
        var reason: String?
        /// The push service's HTTP status.
        var status: Int?
    }

    var id: String
    var createdAt: String
    /// False: the router was stopped in the middle; send it again under its Idempotency-Key.
    var isComplete: Bool
    /// Since when steps are remembered; nil: they are not, and no device is listed.
    var tracedSince: String?
    var devices: [Device]
    /// What the parameter `after` takes; nil: that was all.
    var next: Int?

    init(_ record: RequestRecord, _ explanation: EventExplanation?, next: Int?) {
        id = Hex.encode(record.id)
        createdAt = UTCTime(record.createdAt).stamp
        isComplete = !record.events.isEmpty
        tracedSince = explanation?.tracedSince
        self.next = next
        devices = (explanation?.accounts ?? []).flatMap(\.devices).compactMap { device in
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
                    status: last.status
                )
            }
        }
    }

    var text: String { json }
}
