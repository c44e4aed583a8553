import PluginKit
import Units

/// What the placeholders of a service stand for in one message.
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

    /// A wake-up says the operator's sentence, and a title alone is the body. Throws when there is nothing to say.
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

/// How long texts may be, in UTF-16 code units: no service counts a text as longer than that.
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

    /// The text, cut between two characters and ended with `…` where it is too long.
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
    /// The name of the urgency in `urgency` of a service.
    fileprivate var word: StaticString {
        switch self {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        }
    }
}
