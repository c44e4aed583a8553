import Cipher
import Core
import JSON
import Nostr
import Push
import Storage

/// The parts that a rule adds to payloads in addition to its texts, and their lifetime.
struct RulePayload: Sendable {
    /// The keys of a rule that are read here.
    static func keys(_ platforms: PlatformCatalog) -> [String] {
        ["data", "event_data", "expires"] + platforms.blocks.map(\.key) + ["native"]
    }

    var blocks: PlatformBlocks
    let customKeys: CustomKeys
    /// How long a push service may store a notification for an unreachable device (`expires`). Nil means that the
    /// transport decides.
    let lifetime: Duration?
    /// The full names of the variables that its templates use.
    let variables: Set<String>

    /// An empty payload.
    init() {
        blocks = PlatformBlocks([PlatformBlocks.Block]())
        customKeys = CustomKeys()
        lifetime = nil
        variables = []
    }

    /// Reads these keys, and checks buttons and URLs. `isSummary` is whether `rule` is for a batch, `hasEvent` whether
    /// it has an event for the keys about the event.
    init(reading rule: YAMLMapping, _ context: RuleContext, isSummary: Bool = false, hasEvent: Bool = true) {
        ButtonChecks.check(rule)
        context.categories.check(rule["category"])
        blocks = BlockReader(context: context, rule: rule, isSummary: isSummary).blocks()
        customKeys = CustomKeys(reading: rule, context.platforms, hasEvent: hasEvent)
        lifetime = Self.lifetime(reading: rule)
        variables = blocks.variables.union(customKeys.variables)
    }

    private static func lifetime(reading rule: YAMLMapping) -> Duration? {
        guard let value = rule["expires"], let text = value.string() else { return nil }
        // The maximum that rules may request is four weeks.
        guard let span = Duration(written: text), (.minutes(1) ... .days(28)).contains(span) else {
            value.mistake("expected a time from 1m to 28d, such as 90s, 15m, 4h, 2d or 1d12h")
            return nil
        }
        return span
    }
}

extension Timestamp {
    /// When a notification with `lifetime` expires if it is made now. The epoch means that the transport decides: no
    /// time is set, or this time is unknown.
    func end(of lifetime: Duration?) -> Timestamp {
        guard let lifetime, self > .epoch else { return .epoch }
        return self + lifetime
    }

    /// Returns the earlier of two expiries. The epoch means none.
    package func earlierExpiry(_ other: Timestamp) -> Timestamp {
        self > .epoch && other > .epoch ? min(self, other) : max(self, other)
    }
}

/// The app's custom keys: those about the event (``EventData``), and a rule's own `data`.
package struct CustomKeys: Sendable {
    /// The limit of plugins for `data`, because finding duplicates takes quadratic time.
    package static let maxMembers = 256

    /// The notification's own keys, which `data` may not replace.
    private static let reserved = [
        "t", "n", "id", "title", "subtitle", "body", "category", "thread", "url", "actions", "sealed",
    ]

    /// All keys that `data` may not have.
    static func reserved(_ platforms: PlatformCatalog) -> [String] {
        platforms.reservedData.keys.sorted() + reserved
    }

    private let own: JSONTemplate?
    /// Whether the event's keys are included, which also describe the referenced event.
    let saysEvent: Bool

    /// No custom keys.
    init() {
        own = nil
        saysEvent = false
    }

    /// `hasEvent` is whether there is an event for the event's keys.
    init(reading rule: YAMLMapping, _ platforms: PlatformCatalog, hasEvent: Bool) {
        saysEvent = hasEvent && rule["event_data"]?.bool() ?? true
        guard let data = rule["data"], let members = data.mapping()?.members else {
            own = nil
            return
        }
        for (key, value) in members {
            if let message = platforms.reservedData[key] {
                value.mistake(message)
            } else if Self.reserved.contains(key) {
                value.mistake(
                    "'\(key)' is a key of the notification itself, which 'data' cannot replace; use another name"
                )
            } else if saysEvent, EventData.keys.contains(key) {
                value.mistake("the event's own keys already include '\(key)'; 'event_data: false' omits them")
            }
        }
        let most = saysEvent ? Self.maxMembers - EventData.keys.count : Self.maxMembers
        if members.count > most {
            data.mistake(
                "expected at most \(most) keys; put the rest into an object in one of them"
                    + (saysEvent ? ", or omit the event's keys with 'event_data: false'" : "")
            )
        }
        own = members.isEmpty ? nil : JSONTemplate(free: data)
    }

    var variables: Set<String> { own?.variables ?? [] }

    /// Returns a JSON object, or an empty string. Adds omitted values to `rendering`.
    func render(
        _ source: TemplateSource,
        _ values: TemplateValues,
        now: Timestamp,
        into rendering: inout Rendering
    ) -> String {
        let event = saysEvent ? EventData.json(of: source) : ""
        var omitted = OmittedPaths()
        let own = own?.render(values, now: now, omitted: &omitted)
        rendering.leaveOut(omitted, of: "data")
        guard let own, own != "{}" else { return event }
        guard !event.isEmpty, event != "{}" else { return own }
        return event.dropLast() + "," + own.dropFirst()
    }

    /// Renders without an event, and so without untrusted values.
    func render(_ values: TemplateValues, now: Timestamp) -> String {
        var omitted = OmittedPaths()
        guard let own = own?.render(values, now: now, omitted: &omitted), own != "{}" else { return "" }
        return own
    }
}

/// The custom keys that describe the event to an app (contrib/docs/rules.md, "What an app receives").
enum EventData {
    /// The names of its keys.
    static let keys: Set = [
        "event_id", "author_pubkey", "kind", "created_at", "referenced_event_id", "referenced_event_kind",
        "referenced_event_content",
    ]

    /// Returns a JSON object with sorted keys. It is written piece by piece, because an encoder costs as much as the
    /// rest of a rendering.
    static func json(of source: TemplateSource) -> String {
        let facts = source.input.facts
        var json = JSONText()
        json.bytes.reserveCapacity(384)
        json.append(#"{"author_pubkey":""#)
        Hex.append(source.input.author.bytes.words, to: &json.bytes)
        json.append(#"","created_at":"#)
        json.append(facts.event.createdAt)
        json.append(#","event_id":""#)
        Hex.append(facts.event.id.bytes.words, to: &json.bytes)
        json.append(#"","kind":"#)
        json.append(facts.event.kind.rawValue)
        if let referenced = source.input.referenced {
            if let content = referenced.content {
                json.append(#","referenced_event_content":"#)
                json.appendQuoted(Excerpt.of(UntrustedText.neutral(content, isMultiline: true).text))
            }
            json.append(#","referenced_event_id":""#)
            Hex.append(referenced.id.bytes.words, to: &json.bytes)
            json.append("\"")
            if let kind = referenced.kind {
                json.append(#","referenced_event_kind":"#)
                json.append(kind.rawValue)
            }
        }
        json.append("}")
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
