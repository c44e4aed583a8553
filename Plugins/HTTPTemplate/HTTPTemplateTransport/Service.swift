import Core
import PluginKit

/// One push service, described by the operator in `services`.
struct Service: Sendable {
    /// Fields of registrations that the router itself uses.
    private static let reservedFields: Set = [
        "app", "batch", "code", "device", "filter_plugins", "filters", "locale", "mode", "partners", "platform",
        "push_endpoint", "quiet", "relays", "service", "shared", "signals", "subscription", "token",
    ]

    let request: RequestTemplate
    let answers: AnswerTable
    let secrets: [String: String]
    /// The service's names of the urgencies.
    let urgencies: JSONObject
    let limits: TextLimits
    let placeholders: Set<Placeholder>
    private let token: TextRule
    private let fields: [(name: String, rule: TextRule)]

    /// Reads a service; `kept` are secrets from the secrets file.
    init(_ block: JSONObject, _ kept: [String: String] = [:]) throws(PluginError) {
        try block.refuseMembers(except: [
            "method", "url", "headers", "json", "form", "text", "secrets", "token", "fields", "urgency", "limits",
            "answers",
        ])
        let written = try Self.secrets(block)
        if let name = kept.keys.sorted().first(where: { written[$0] != nil }) {
            throw PluginError("secrets.\(name): expected it here or in secrets_file, found both")
        }
        let secrets = kept.merging(written) { $1 }
        self.secrets = secrets
        token = try PluginError.at("token") { () throws(PluginError) in
            try TextRule(block.mapping("token", expected: "a mapping"), isRequired: true)
        }
        let fields = try Self.fields(block)
        self.fields = fields
        var names = PlaceholderNames(fields: Set(fields.map(\.name)), secrets: Set(secrets.keys))
        request = try RequestTemplate(block, &names)
        answers = try AnswerTable(block, isUsersOwn: request.url.isUsersOwn)
        urgencies = try block.mapping("urgency", expected: "values by low, normal and high") ?? JSONObject()
        let lengths = try block.mapping("limits", expected: "lengths by title, subtitle and body") ?? JSONObject()
        let urgencies = urgencies
        limits = try PluginError.at("limits") { () throws(PluginError) in try TextLimits(lengths) }
        try PluginError.at("urgency") { () throws(PluginError) in
            try urgencies.refuseMembers(except: ["low", "normal", "high"])
        }
        placeholders = names.used
        if case .secret(let name)? = request.url.base, !request.url.canBegin(with: secrets[name] ?? "") {
            throw PluginError("secrets.\(name): expected a URL, because url starts with it")
        }
    }

    /// Throws if the service cannot reach a device with this registration.
    func check(_ registration: borrowing Registration) throws(PluginError) {
        try token.check(registration.token.string, "token")
        for (name, rule) in fields {
            try rule.check(registration.field(named: name)?.string ?? "", name)
        }
        let (name, base): (String, String?) =
            switch request.url.base {
            case .token: ("token", registration.token.string)
            case .field(let name): (name, registration.field(named: name)?.string ?? "")
            default: ("", nil)
            }
        guard base.map(request.url.canBegin) ?? true else {
            throw PluginError("\(name): expected a URL such as https://example.com/path")
        }
    }

    private static func secrets(_ block: JSONObject) throws(PluginError) -> [String: String] {
        var secrets: [String: String] = [:]
        for (name, value) in try block.mapping("secrets", expected: "texts by their names")?.members ?? [] {
            guard let text = value.literalText, !text.isEmpty else {
                throw PluginError("secrets.\(name): expected a text, found \(value.kind)")
            }
            secrets[name] = text
        }
        return secrets
    }

    private static func fields(_ block: JSONObject) throws(PluginError) -> [(name: String, rule: TextRule)] {
        var fields: [(String, TextRule)] = []
        for (name, value) in try block.mapping("fields", expected: "mappings by the fields' names")?.members ?? [] {
            let rule = try PluginError.at("fields.\(name)") { () throws(PluginError) in
                guard !reservedFields.contains(name) else {
                    throw PluginError("expected another name: registrations use this one")
                }
                guard value.isObject || value.isNull else {
                    throw PluginError("expected a mapping, found \(value.kind)")
                }
                return try TextRule(value.object, isRequired: false)
            }
            fields.append((name, rule))
        }
        return fields
    }
}

/// The required format of a token or a field of a registration.
private struct TextRule: Sendable {
    private static let limit: Int64 = 2048

    private let isRequired: Bool
    private let start: String
    private let lengths: ClosedRange<Int>
    private let expected: String

    init(_ block: JSONObject?, isRequired: Bool) throws(PluginError) {
        let block = block ?? JSONObject()
        try block.refuseMembers(except: ["required", "starts_with", "min_length", "max_length", "expected"])
        self.isRequired = try block.flag("required") ?? isRequired
        start = try block.text("starts_with", expected: "a text") ?? ""
        let shortest = Int(try block.integer("min_length", in: 1...Self.limit) ?? 1)
        let longest = Int(try block.integer("max_length", in: 1...Self.limit) ?? 1000)
        guard shortest <= longest else { throw PluginError("min_length: expected at most max_length") }
        lengths = shortest...longest
        let description = try block.text("expected", expected: "a description of the value") ?? "a text"
        let beginning = start.isEmpty ? "" : " that starts with \(start)"
        expected = "\(description)\(beginning), \(shortest) to \(longest) bytes"
    }

    func check(_ text: String, _ name: String) throws(PluginError) {
        if text.isEmpty, !isRequired { return }
        guard lengths.contains(text.utf8.count), text.hasPrefix(start), text != ".", text != "..",
            text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { throw PluginError("\(name): expected \(expected)") }
    }
}

/// The values of a service's placeholders in one message.
struct Values {
    enum Value {
        case text(String)
        case number(Int64)
        case json(JSONValue)

        var text: String {
            switch self {
            case .text(let text): text
            case .number(let number): String(number)
            case .json(let value):
                value.string ?? (value.isNull ? "" : String(decoding: value.raw, as: UTF8.self))
            }
        }
    }

    private var values: [Placeholder: Value] = [:]

    /// Makes the values. A wake-up uses the operator's sentence, and a title without a body becomes the body. Throws if
    /// there is no text.
    init(
        _ notification: borrowing Notification,
        _ registration: borrowing Registration,
        _ service: Service,
        _ wakeTexts: WakeTexts
    ) throws(ReadableMessageError) {
        guard let native = try? notification.native.jsonObject(), let data = try? notification.data.jsonObject() else {
            throw .badNative
        }
        var title = notification.title.string
        var body = notification.body.string
        if notification.mode == .wake {
            (title, body) = ("", wakeTexts.text(count: notification.count))
        } else if body.isEmpty {
            (title, body) = ("", title)
        }
        guard !body.isEmpty else { throw .empty }
        for placeholder in service.placeholders {
            switch placeholder {
            case .token: values[placeholder] = .text(registration.token.string)
            case .field(let name): values[placeholder] = .text(registration.field(named: name)?.string ?? "")
            case .secret(let name): values[placeholder] = .text(service.secrets[name] ?? "")
            case .rule(let name): values[placeholder] = native[named: name].map(Value.json)
            case .data(let name): values[placeholder] = data[named: name].map(Value.json)
            case .notification(.title): values[placeholder] = .text(service.limits.shorten(title, .title))
            case .notification(.body): values[placeholder] = .text(service.limits.shorten(body, .body))
            case .notification(.subtitle):
                values[placeholder] = .text(service.limits.shorten(notification.subtitle.string, .subtitle))
            case .notification(.urgency):
                let word = notification.urgency.word
                values[placeholder] = service.urgencies[word].map(Value.json) ?? .text("\(word)")
            case .notification(let word): values[placeholder] = Self.value(of: word, notification)
            }
        }
    }

    private static func value(of word: Placeholder.Word, _ notification: borrowing Notification) -> Value? {
        switch word {
        case .id: .text(notification.id.string)
        case .signal: .text(notification.signal.string)
        case .count: .number(Int64(notification.count))
        case .mode: .text(notification.mode == .wake ? "wake" : notification.mode == .nudge ? "nudge" : "alert")
        case .category: .text(notification.category.string)
        case .thread: .text(notification.thread.string)
        case .collapseKey: .text(notification.collapseKey.string)
        case .url: .text(notification.url.string)
        case .expiresAt: notification.expiresAt.map { .number($0.seconds) }
        case .urgency, .title, .subtitle, .body: nil
        }
    }

    subscript(placeholder: Placeholder) -> Value? { values[placeholder] }

    func text(_ placeholder: Placeholder) -> String { values[placeholder]?.text ?? "" }
}

/// The maximum lengths of texts in UTF-16 code units, because no service counts a text as longer than that.
struct TextLimits: Sendable {
    private let limits: [Placeholder.Word: Int64]

    init(_ block: JSONObject) throws(PluginError) {
        try block.refuseMembers(except: ["title", "subtitle", "body"])
        limits = [
            .title: try block.integer("title", in: 1...65_536) ?? 250,
            .subtitle: try block.integer("subtitle", in: 1...65_536) ?? 250,
            .body: try block.integer("body", in: 1...65_536) ?? 4000,
        ]
    }

    /// Returns the text, truncated between two characters and ended with `…` if it is too long.
    func shorten(_ text: String, _ word: Placeholder.Word) -> String {
        guard let limit = limits[word], text.utf16.count > limit else { return text }
        var room = limit - 1
        let short = text.prefix { character in
            room -= Int64(character.utf16.count)
            return room >= 0
        }
        return short + "…"
    }
}

extension Urgency {
    /// The key of the urgency in a service's `urgency`.
    fileprivate var word: StaticString {
        switch self {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        }
    }
}
