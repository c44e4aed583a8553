import Console
import Core
import Foundation
import JSON
import Nostr
import Observability
import PluginHost
import Push
import RouterConfiguration
import Rules
import Storage
import Synchronization

/// Endpoints that show, check, try, compare and save rules, and list the signals that they raise.
struct RulesAPI {
    private static let longest = 50_000
    private static let rules: JSONValue = [
        "type": "string", "maxLength": .number(longest),
        "description": "Rules as YAML, without references to files.",
    ]

    let plugins: PluginHost
    let inForce: @Sendable () -> (configuration: Configuration, book: RuleBook)
    let reload: @Sendable () async -> ReloadResult
    let differences: RulesDifferences
    /// Each trial loads the plugins, so only one runs at a time.
    private let gate = OneAtATime("another trial is in progress")
    private let saves = OneAtATime("another client is saving rules")
    private let comparisons = OneAtATime("another comparison is in progress")

    init(
        plugins: PluginHost,
        inForce: @escaping @Sendable () -> (configuration: Configuration, book: RuleBook),
        reload: @escaping @Sendable () async -> ReloadResult,
        differences: RulesDifferences
    ) {
        self.plugins = plugins
        self.inForce = inForce
        self.reload = reload
        self.differences = differences
    }

    var operations: [APIOperation] { [show, check, attempt, compare, save, fixtures, signals] }

    private var show: APIOperation {
        .report(.get("/v1/rules"), .rules, "Returns the active rules, file by file.") {
            [plugins, inForce] _ in
            let configuration = inForce().configuration
            do {
                return try await DiskWork.run { try RulesInForce(configuration, KnownPlatforms(plugins)) }
            } catch let mistakes as Diagnostics {
                throw APIError(
                    503,
                    "the active rules can no longer be read: \(mistakes.all.first?.message ?? "")"
                )
            }
        }
    }

    private var save: APIOperation {
        let body: JSONValue = [
            "type": "object", "required": ["file", "rules", "digest"], "additionalProperties": false,
            "properties": [
                "file": ["type": "string", "description": "A `name` of GET /v1/rules."],
                "rules": ["type": "string", "maxLength": .number(Self.longest)],
                "digest": ["type": "string", "description": "The `digest` from GET /v1/rules; any other is rejected."],
            ],
        ]
        return .report(
            .post("/v1/rules/save"),
            .rules,
            "Saves rules to a file and reloads the configuration. Rules with errors change nothing.",
            body: APIOperation.Body(schema: body)
        ) { [saves, plugins, inForce, reload] call in
            let saving = try RulesSaving(call, longest: Self.longest)
            let platforms = KnownPlatforms(plugins)
            return try await saves.run {
                let configuration = inForce().configuration
                let former = try await DiskWork.run { try saving.write(configuration, platforms) }
                let problem: APIError
                switch await reload() {
                case .done: return try await DiskWork.run { try RulesInForce(configuration, platforms) }
                case .busy:
                    let words = "a reload is in progress: try again in a moment"
                    problem = APIError(409, Sentence("busy", words), retryAfter: 1)
                case .refused(let mistakes):
                    let lists = ["mistakes": mistakes.all.map(\.description)]
                    problem = APIError(422, "the configuration has errors; the old rules stay active", lists: lists)
                }
                try await DiskWork.run { try saving.restore(former) }
                throw problem
            }
        }
    }

    private var fixtures: APIOperation {
        APIOperation(
            APIEndpoint(.get, "/v1/rules/fixtures", for: .scope(.read)) { _ in
                let fixtures = try Fixture.all().map { fixture in
                    "{\"name\":\(JSONText.quoted(fixture.name)),\"about\":\(JSONText.quoted(fixture.about)),"
                        + "\"count\":\(fixture.count),\"event\":\(fixture.event.jsonString)}"
                }
                return ConsoleAnswer(body: "{\"fixtures\":[\(fixtures.joined(separator: ","))]}\n")
            },
            .rules,
            "Lists example events to try rules on.",
            .json(
                [
                    "type": "object", "required": ["fixtures"],
                    "properties": [
                        "fixtures": [
                            "type": "array",
                            "items": [
                                "type": "object", "required": ["name", "about", "count", "event"],
                                "properties": [
                                    "name": ["type": "string"], "about": ["type": "string"],
                                    "count": ["type": "integer"], "event": ["type": "object"],
                                ],
                            ],
                        ]
                    ],
                ]
            )
        )
    }

    private var check: APIOperation {
        let body: JSONValue = [
            "type": "object", "required": ["rules"], "additionalProperties": false,
            "properties": ["rules": Self.rules],
        ]
        return .report(
            .post("/v1/rules/check", for: .scope(.read)),
            .rules,
            "Lists all errors in rules, each with line and column.",
            body: APIOperation.Body(schema: body)
        ) { [plugins] call in
            let text = try RequestObject(call, members: ["rules"]).required("rules", atMost: Self.longest)
            return try await DiskWork.run { RulesDiagnosis(text, KnownPlatforms(plugins)) }
        }
    }

    private var attempt: APIOperation {
        let body: JSONValue = [
            "type": "object", "additionalProperties": false,
            "properties": [
                "rules": Self.rules,
                "fixture": ["type": "string", "description": "The name of an example event, such as reply."],
                "event": ["type": "object", "description": "An event; its signature is optional."],
                "recipient": ["type": "string", "description": "64 hex digits or npub1…."],
                "platforms": [
                    "type": "array", "items": ["type": "string"], "maxItems": 20,
                    "description": "Default: all platforms that plugins serve.",
                ],
                "mode": ["type": "string", "enum": .texts(Mode.allCases.map(\.name))],
                "language": ["type": "string"], "author": ["type": "string"], "followed": ["type": "boolean"],
            ],
        ]
        return APIOperation(
            APIEndpoint(.post, "/v1/rules/try", for: .scope(.read), body: APIBody()) { [gate, inForce] call in
                var (order, subject) = try TrialOrder.read(call)
                return try await gate.run {
                    order.configuration = inForce().configuration
                    do {
                        let report = try await RulesTrial.run(order) { try await $0.run(subject) }
                        return ConsoleAnswer(body: report.json + "\n")
                    } catch let failure as TrialError {
                        throw APIError(failure)
                    } catch let mistakes as Diagnostics {
                        throw APIError(422, mistakes: mistakes)
                    }
                }
            },
            .rules,
            "Returns the exact requests that an event would cause, by the active rules or others, for made-up devices and keys.",
            .json(
                [
                    "type": "object", "required": ["name", "kind", "event", "count", "wakes"],
                    "properties": [
                        "name": ["type": "string"], "kind": ["type": "integer"], "event": ["type": "string"],
                        "count": ["type": "integer"], "wakes": ["type": "boolean"], "reason": ["type": "string"],
                        "says": AnswerSchema.of(Statement.self),
                        "signal": ["type": "string"],
                        "rule": [
                            "type": "object", "required": ["name"],
                            "properties": [
                                "name": ["type": "string"], "file": ["type": "string"], "line": ["type": "integer"],
                            ],
                        ],
                        "platforms": ["type": "object", "additionalProperties": ["type": "object"]],
                    ],
                ]
            ),
            body: body
        )
    }

    private var compare: APIOperation {
        let body: JSONValue = [
            "type": "object", "additionalProperties": false,
            "properties": [
                "rules": Self.rules,
                "file": [
                    "type": "string",
                    "description":
                        "The `name` in GET /v1/rules of the file to replace. Default: all.",
                ],
                "hours": [
                    "type": "integer", "minimum": 1, "maximum": .number(TraceLimits.keptEventsRange.upperBound),
                    "description": "The number of hours to look back. Default: 24.",
                ],
            ],
        ]
        return .report(
            .post("/v1/rules/diff", for: .scope(.read)),
            .rules,
            "Finds recent events that other rules would have handled differently, for the current devices: the rules in the "
                + "request, or by default the files on disk. Requires trace.keep_events_hours.",
            body: APIOperation.Body(schema: body)
        ) { [comparisons, plugins, inForce, differences] call in
            let object = try RequestObject(call, members: ["rules", "file", "hours"])
            let text = try object.has("rules") ? object.required("rules", atMost: Self.longest) : nil
            let file = try object.text("file")
            let hours = try object.integer("hours", in: 1...Int64(TraceLimits.keptEventsRange.upperBound)) ?? 24
            let (configuration, book) = inForce()
            return try await comparisons.run {
                let other = try await DiskWork.run {
                    try Self.book(text, inPlaceOf: file, configuration, KnownPlatforms(plugins))
                }
                return try await differences.between(book, other, hours: Int(hours), configuration)
            }
        }
    }

    /// Throws an ``APIError`` with the errors in the rules.
    private static func book(
        _ text: String?,
        inPlaceOf file: String?,
        _ configuration: Configuration,
        _ platforms: KnownPlatforms
    ) throws -> RuleBook {
        do {
            switch (text, file) {
            case (let text?, let file?) where !file.isEmpty:
                guard configuration.namesRules(file) else { throw APIError(400, RulesSaving.expectedFile) }
                return try RulesFiles(configuration, platforms, replacing: [file: text])
                    .read()
            case (let text?, _): return try RuleBook(text, platforms)
            case (nil, nil): return try RulesFiles(configuration, platforms).read()
            case (nil, _?): throw APIError(400, "file: expected rules as well")
            }
        } catch let mistakes as Diagnostics {
            throw APIError(422, mistakes: mistakes)
        }
    }

    private var signals: APIOperation {
        APIOperation(
            APIEndpoint(
                .get,
                "/v1/signals",
                for: .scope(.read),
                [.query("examples", .flag, "Adds the request that an example causes on each platform.")]
            ) { [gate, inForce] call in
                let (configuration, book) = inForce()
                var catalogue = SignalCatalogue(book)
                if ["true", "1"].contains(call.query["examples"]) {
                    let empty = catalogue
                    catalogue = try await gate.run { try await empty.withExamples(configuration) }
                }
                return ConsoleAnswer(body: catalogue.json + "\n")
            },
            .rules,
            "Lists the signals that events can raise, and the active rules that raise them.",
            .json(SignalCatalogue.schema)
        )
    }
}

/// Runs one operation at a time and rejects others until it ends.
final class OneAtATime: Sendable {
    private let isTaken = Mutex(false)
    private let refusal: String

    init(_ refusal: String) {
        self.refusal = refusal
    }

    func run<Value>(_ body: () async throws -> Value) async throws -> Value {
        let isFree = isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
        guard isFree else {
            throw APIError(503, Sentence("busy", "\(refusal): try again in a moment"), retryAfter: 1)
        }
        defer { isTaken.withLock { $0 = false } }
        return try await body()
    }
}

/// The signals that events can raise, for authors of apps and rules.
struct SignalCatalogue: Sendable {
    static let schema: JSONValue = [
        "type": "object", "required": ["signals"],
        "properties": [
            "signals": [
                "type": "array",
                "items": [
                    "type": "object", "required": ["signal", "is_built_in", "rules"],
                    "properties": [
                        "signal": ["type": "string"], "is_built_in": ["type": "boolean"],
                        "rules": ["type": "array", "items": ["type": "string"]],
                        "example": [
                            "type": "object",
                            "description": "The response of POST /v1/rules/try for an example event that raises it.",
                        ],
                    ],
                ],
            ]
        ],
    ]

    private struct Entry: Sendable {
        let signal: Signal
        /// The names of active rules that raise the signal.
        let rules: [String]
        /// A report as JSON.
        var example: String?
    }

    private var entries: [Entry]

    init(_ book: RuleBook) {
        let books = [book] + book.ofApps.sorted { $0.key < $1.key }.map(\.value)
        let named = books.reduce(into: Set<Signal>()) { $0.formUnion($1.namedSignals) }
        let further = named.subtracting(Signal.wellKnown).sorted { $0.rawValue < $1.rawValue }
        entries = (Signal.wellKnown + further).map { signal in
            var names: [String] = []
            for rule in books.flatMap(\.rules) where rule.signal == signal && !names.contains(rule.name) {
                names.append(rule.name)
            }
            return Entry(signal: signal, rules: names)
        }
    }

    /// Runs all fixtures, and keeps the first report of each signal as its example. Throws an ``APIError``.
    func withExamples(_ configuration: Configuration) async throws -> SignalCatalogue {
        var order = TrialOrder()
        order.configuration = configuration
        order.isWithoutBlocks = true
        do {
            return try await RulesTrial.run(order) { trial in
                var catalogue = self
                for fixture in try Fixture.all() where fixture.count == 1 {
                    guard let report = try? await trial.run(TrialSubject(fixture)),
                        case .wakes(let wakeUp) = report.decision,
                        let index = catalogue.entries.firstIndex(where: { $0.signal == wakeUp.signal }),
                        catalogue.entries[index].example == nil
                    else { continue }
                    catalogue.entries[index].example = report.json
                }
                return catalogue
            }
        } catch let failure as TrialError {
            throw APIError(503, failure.description)
        } catch let mistakes as Diagnostics {
            throw APIError(503, "the active rules can no longer be read: \(mistakes.all.first?.message ?? "")")
        }
    }

    var json: String {
        let entries = entries.map { entry in
            let rules = entry.rules.map(JSONText.quoted).joined(separator: ",")
            let example = entry.example.map { ",\"example\":\($0)" } ?? ""
            return "{\"signal\":\(JSONText.quoted(entry.signal.rawValue)),"
                + "\"is_built_in\":\(Signal.wellKnown.contains(entry.signal)),\"rules\":[\(rules)]\(example)}"
        }
        return "{\"signals\":[\(entries.joined(separator: ","))]}"
    }
}
