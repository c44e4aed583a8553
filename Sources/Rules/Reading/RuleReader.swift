import Nostr
import Notifications
import YAMLReading

/// Reads one rule. What it cannot read it notes as a mistake and leaves out, so that the rest is checked as well.
struct RuleReader {
    private static let keys = [
        "name", "match", "drop", "signal", "mode", "urgency", "title", "subtitle", "body", "category", "thread",
        "collapse", "url",
        "actions", "apns", "native",
    ]
    /// Names end up in traces and labels, so they are kept short.
    private static let nameLimit = 64

    /// From 1: what an unnamed rule is called.
    let number: Int

    func rule(_ value: YAMLValue) -> Rule? {
        guard let rule = value.mapping(keys: Self.keys) else { return nil }
        return Rule(
            name: name(rule),
            match: match(rule["match"]),
            signal: rule["signal"].flatMap(signal),
            drops: rule["drop"]?.bool() ?? false,
            mode: rule["mode"].flatMap(mode) ?? .alert,
            urgency: rule["urgency"].flatMap(urgency) ?? .normal,
            texts: texts(rule),
            native: native(rule)
        )
    }

    static func template(_ value: YAMLValue) -> Template? {
        guard let text = value.string() else { return nil }
        do {
            return try Template(text)
        } catch {
            value.mistake(error.message)
            return nil
        }
    }

    private func name(_ rule: YAMLMapping) -> String {
        guard let value = rule["name"], let name = value.string() else { return "rule-\(number)" }
        if name.isEmpty || name.count > Self.nameLimit { value.mistake("expected 1 to \(Self.nameLimit) characters") }
        return name
    }

    private func match(_ value: YAMLValue?) -> RuleMatch {
        var match = RuleMatch()
        guard let value, let mapping = value.mapping(keys: ["kinds", "content", "relation", "signal"]) else {
            return match
        }
        match.kinds = mapping["kinds"].map {
            Set($0.oneOrMore().compactMap { $0.integer(in: 0...65535) }.map(UInt16.init))
        }
        match.content = mapping["content"].map { Set($0.oneOrMore().compactMap { $0.string() }) }
        match.relations = mapping["relation"].map { value in
            Set(value.oneOrMore().compactMap { $0.choice(Relation.allCases.map(\.rawValue)).flatMap(Relation.init) })
        }
        match.signals = mapping["signal"].map { Set($0.oneOrMore().compactMap(signal)) }
        return match
    }

    /// A signal travels as `t` in payloads and labels metrics: a short plain word.
    private func signal(_ value: YAMLValue) -> Signal? {
        guard let word = value.string() else { return nil }
        let plain = word.utf8.allSatisfy {
            (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F || $0 == 0x2D
        }
        guard plain, (1...32).contains(word.utf8.count), word != "batch" else {
            value.mistake("expected 1 to 32 of a-z, 0-9, _ and -, and not 'batch'")
            return nil
        }
        return Signal(rawValue: word)
    }

    private func mode(_ value: YAMLValue) -> Mode? {
        value.choice([Mode.wake.name, Mode.alert.name]).flatMap { Mode(name: $0) }
    }

    private func urgency(_ value: YAMLValue) -> Urgency? {
        value.choice(Urgency.allCases.map(\.name)).flatMap { name in Urgency.allCases.first { $0.name == name } }
    }

    private func texts(_ rule: YAMLMapping) -> RuleTexts {
        func template(_ key: String) -> Template { rule[key].flatMap(Self.template) ?? .empty }
        return RuleTexts(
            title: template("title"),
            subtitle: template("subtitle"),
            body: template("body"),
            category: template("category"),
            thread: template("thread"),
            collapse: template("collapse"),
            url: template("url"),
            actions: rule["actions"].map(actions) ?? []
        )
    }

    /// Seed 002: one to four buttons, each with an id and a label.
    private func actions(_ value: YAMLValue) -> [RuleTexts.ActionTexts] {
        guard let list = value.list() else { return [] }
        if !(1...4).contains(list.count) { value.mistake("expected one to four buttons") }
        return list.compactMap { value in
            guard let action = value.mapping(keys: ["id", "label", "url", "icon"]),
                let id = action.require("id", "what the app learns when the button is tapped").flatMap(Self.template),
                let label = action.require("label", "the text on the button").flatMap(Self.template)
            else { return nil }
            return RuleTexts.ActionTexts(
                id: id,
                label: label,
                url: action["url"].flatMap(Self.template) ?? .empty,
                icon: action["icon"].flatMap(Self.template) ?? .empty
            )
        }
    }

    private func native(_ rule: YAMLMapping) -> [String: String] {
        var native: [String: String] = [:]
        for (platform, block) in rule["native"]?.mapping()?.members ?? [] where block.mapping() != nil {
            native[platform] = block.json()
        }
        if let apns = rule["apns"], apns.mapping() != nil {
            if native["ios"] != nil { apns.mistake("this is native.ios under its own name; give one of them") }
            native["ios"] = apns.json()
        }
        return native
    }
}
