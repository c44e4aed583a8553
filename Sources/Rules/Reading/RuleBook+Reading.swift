import JSON
import Nostr
import Push
import Storage

/// Checks of plugins, by platform: each returns an error in a block that the description allows. It gets the block as
/// JSON without values that contain variables.
package typealias BlockChecks = [String: @Sendable (_ block: String) -> String?]

extension RuleBook {
    /// Part of the error message about an unknown key that contains a block.
    package static let missingBlock = "no loaded plugin has a block of that name"

    private static let keys = ["version", "rules", "summary", "nudge", "categories", "mentions"]

    /// Reads one rules file's text; see ``init(files:)``.
    package init(
        yaml text: String,
        name: String,
        platforms: PlatformCatalog,
        blockChecks: BlockChecks = [:]
    ) throws(Diagnostics) {
        try self.init(files: [RulesFile(name: name, text: text)], platforms: platforms, blockChecks: blockChecks)
    }

    /// Reads the rules of `files` in order. The first file with a summary (or another single value) decides it. Devices
    /// of the apps in `ofApps` use those files' rules first.
    ///
    /// Throws the errors of all files together, each with its file, line and expectation.
    package init(
        files: [RulesFile],
        ofApps: [String: [RulesFile]] = [:],
        platforms: PlatformCatalog,
        blockChecks: BlockChecks = [:]
    ) throws(Diagnostics) {
        let context = RuleContext(platforms: platforms, checks: blockChecks)
        let common = Self.read(files, after: [], context)
        var mistakes = common.mistakes
        var books: [String: RuleBook] = [:]
        for (app, own) in ofApps.sorted(by: { $0.key < $1.key }) {
            let others = files.filter { file in !own.contains { $0.name == file.name } }
            let (book, further) = Self.read(others, after: own, context)
            books[app] = book
            mistakes += further.filter { !mistakes.contains($0) }
        }
        guard mistakes.isEmpty else { throw Diagnostics(mistakes) }
        self = common.book.with(books)
    }

    private static func read(
        _ files: [RulesFile],
        after own: [RulesFile],
        _ context: RuleContext
    ) -> (book: RuleBook, mistakes: [Diagnostic]) {
        let all = own + files
        let yaml = all.map { YAMLFile(name: $0.name) }
        let tops = zip(all, yaml).compactMap { file, yaml in
            yaml.parse(file.text)?.mapping(keys: keys).map { (top: $0, file: file) }
        }
        let ownCount = own.isEmpty ? all.count : own.count
        let book = RuleBook(tops, areAllRead: tops.count == all.count, own: ownCount, context)
        var mistakes: [Diagnostic] = []
        for file in yaml {
            do {
                try file.throwMistakes()
            } catch {
                mistakes += error.all
            }
        }
        return (book, mistakes)
    }

    /// `files` are the parsed files. Checks that each rule of the first `own` files is reachable; an app's own rules
    /// may hide common ones.
    private init(
        _ files: [(top: YAMLMapping, file: RulesFile)],
        areAllRead: Bool,
        own: Int,
        _ context: RuleContext
    ) {
        for (top, _) in files { Self.checkVersion(top) }
        /// The first file's value. All files are read, so that each is checked.
        func first<Value>(_ key: String, _ read: (YAMLValue) -> Value?) -> Value? {
            files.compactMap { $0.top[key].flatMap(read) }.first
        }
        // The app's categories apply to all files.
        var context = context
        for (top, _) in files {
            top["categories"].map { context.add(ButtonCategories(reading: $0, context.platforms)) }
        }
        let nudge = first("nudge") { NeutralTemplates($0, context) } ?? .standard
        let mentions = first("mentions", MentionStyle.init) ?? .raw
        let values = files.map { $0.top.require("rules", "a list of rules, first match wins")?.list() ?? [] }
        var rules: [RuleDefinition] = []
        for (values, file) in zip(values, files.map(\.file)) {
            for value in values {
                let reader = RuleReader(
                    number: rules.count + 1,
                    file: file,
                    context: context,
                    mentions: mentions
                )
                if let rule = reader.rule(value) { rules.append(rule) }
            }
        }
        Self.checkNames(values.flatMap { $0 })
        if areAllRead, files.allSatisfy(\.top.value.file.mistakes.isEmpty) {
            let checked = values.prefix(own).flatMap { $0 }
            RuleReach.check(Array(rules.prefix(checked.count)), checked)
        }
        self.init(
            rules: Self.rules(rules, coveredBy: nudge, context.platforms),
            summary: first("summary") { BatchTemplates.summary($0, context) } ?? BatchTemplates.standardSummary,
            nudge: nudge,
            warnings: files.flatMap(\.top.value.file.warnings),
            platforms: context.platforms
        )
    }

    /// Traces and tests identify the rules of a file by their names.
    private static func checkNames(_ rules: [YAMLValue]) {
        var lines: [String: Int] = [:]
        for (index, rule) in rules.enumerated() {
            if index > 0, rule.file !== rules[index - 1].file { lines = [:] }
            guard rule.isMapping, let value = rule.mapping()?["name"], let name = value.writtenText else { continue }
            if let line = lines[name] {
                value.mistake("the rule in line \(line) is also called '\(name.prefix(64))'")
            } else {
                lines[name] = rule.line
            }
        }
    }

    /// Returns the rules, with the visible parts of sealed notifications that only contain values shared by all rules.
    private static func rules(
        _ rules: [RuleDefinition],
        coveredBy nudge: NeutralTemplates,
        _ platforms: PlatformCatalog
    ) -> [Rule] {
        let shared = SharedPresentation(
            rules.filter { !$0.drops && $0.mode > .nudge }.map { ($0.texts, $0.payload.blocks) },
            platforms
        )
        return rules.map { Rule($0, nudge: nudge, shared: shared, platforms: platforms) }
    }

    private static func checkVersion(_ top: YAMLMapping) {
        guard let version = top.require("version", "this file's format, 1"),
            version.scalar() != .whole(1)
        else { return }
        version.mistake("this Carillon reads version 1")
    }
}

/// Finds rules that no event reaches, because earlier rules take them all. Only reliable if all rules could be read.
enum RuleReach {
    /// `values` are the locations of `rules` in their files.
    static func check(_ rules: [RuleDefinition], _ values: [YAMLValue]) {
        checkBehindEverything(rules, values)
        checkKinds(rules, values)
    }

    /// Reports the first rule after one without conditions.
    private static func checkBehindEverything(_ rules: [RuleDefinition], _ values: [YAMLValue]) {
        guard let last = rules.firstIndex(where: \.match.conditions.isForEverything), last + 1 < values.count else {
            return
        }
        values[last + 1].mistake(
            "no event gets here: the rule '\(rules[last].name)' (\(place(of: values[last]))) has no conditions, so every "
                + "event stops there"
        )
    }

    /// Reports each rule whose kinds are all taken by earlier rules in the same file. Rules of other files are
    /// excluded, because an operator's rules come before common ones.
    private static func checkKinds(_ rules: [RuleDefinition], _ values: [YAMLValue]) {
        var takers: [UInt16: Int] = [:]
        for (index, rule) in rules.enumerated() {
            if index > 0, values[index].file !== values[index - 1].file { takers = [:] }
            guard let kinds = rule.match.conditions.kinds else { continue }
            if let taker = kinds.compactMap({ takers[$0] }).max(), kinds.allSatisfy({ takers[$0] != nil }) {
                let all = kinds.sorted().map(String.init).joined(separator: ", ")
                values[index].mistake(
                    "no event gets here: the rules up to '\(rules[taker].name)' (\(place(of: values[taker]))) take all events of "
                        + "kind \(all). Put rules with more conditions first."
                )
            }
            guard rule.match.conditions.takesAllOfItsKinds else { continue }
            for kind in kinds { takers[kind] = takers[kind] ?? index }
        }
    }

    private static func place(of value: YAMLValue) -> String { "\(value.file.name):\(value.line)" }
}

/// Reads one rule. It records errors and omits invalid values, so that the rest is checked too.
///
/// Each part of a rule reads its own keys: ``MatchReader`` the conditions, ``RuleTexts`` the texts, ``RulePayload`` the
/// rest of the payload.
struct RuleReader {
    /// Names are used in traces and labels, so they must be short.
    private static let nameLimit = 64

    /// Starts at 1; the default name of a rule.
    let number: Int
    /// The file of the rule.
    let file: RulesFile
    /// The platforms and categories for its blocks.
    let context: RuleContext
    /// How texts show `nostr:` URIs, unless the rule sets it.
    let mentions: MentionStyle

    func rule(_ value: YAMLValue) -> RuleDefinition? {
        guard let rule = value.mapping(keys: keys, missing: RuleBook.missingBlock) else { return nil }
        let match = MatchReader(file: file, platforms: context.platforms).match(rule["match"])
        let drops = rule["drop"]?.bool() ?? false
        if drops { checkSilence(of: rule) } else if rule["signal"] == nil { checkSignals(of: match, value) }
        return RuleDefinition(
            name: name(rule),
            place: RulePlace(file: value.file.name, line: value.line),
            match: match,
            signal: rule["signal"].flatMap(Self.signal),
            drops: drops,
            mode: rule["mode"].flatMap(mode) ?? .alert,
            urgency: rule["urgency"].flatMap(urgency) ?? .normal,
            texts: RuleTexts(reading: rule),
            payload: RulePayload(reading: rule, context),
            pace: RulePace(reading: rule, context.platforms),
            mentions: rule["mentions"].flatMap(MentionStyle.init) ?? mentions
        )
    }

    private var keys: [String] {
        ["name", "match", "drop", "signal", "mode", "urgency", "mentions"] + RuleTexts.keys
            + RulePayload.keys(context.platforms) + RulePace.keys
    }

    /// A rule that drops its events shows no notification.
    private func checkSilence(of rule: YAMLMapping) {
        for (key, value) in rule.members where !["name", "match", "drop"].contains(key) {
            value.mistake("the rule drops its events, so this has no effect: remove '\(key)' or 'drop'")
        }
    }

    /// Events without a signal that registrations can switch on send no notification.
    private func checkSignals(of match: RuleMatch, _ value: YAMLValue) {
        let strange = (match.conditions.kinds ?? []).subtracting(EventSubject.allKinds).sorted()
        guard let first = strange.first else { return }
        value.mistake(
            "'signal' is missing: Carillon has no default signal for kind \(first)"
        )
    }

    /// A signal is `t` in payloads and a metric label, so it is a short plain word.
    static func signal(_ value: YAMLValue) -> Signal? {
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

    private func name(_ rule: YAMLMapping) -> String {
        guard let value = rule["name"], let name = value.string() else { return "rule-\(number)" }
        if name.isEmpty || name.count > Self.nameLimit { value.mistake("expected 1 to \(Self.nameLimit) characters") }
        return name
    }

    func mode(_ value: YAMLValue) -> Mode? {
        value.choice(Mode.allCases.map(\.name)).flatMap { Mode(name: $0) }
    }

    func urgency(_ value: YAMLValue) -> Urgency? {
        value.choice(Urgency.allCases.map(\.name)).flatMap { name in Urgency.allCases.first { $0.name == name } }
    }
}

/// The errors in a notification that an API client requests.
package struct RequestedRuleError: Error, Sendable {
    package struct FieldError: Sendable, Hashable {
        /// A JSON pointer (RFC 6901) to the value.
        package let pointer: String
        package let message: String
    }

    /// At least one.
    package let mistakes: [FieldError]
}

extension Rule {
    /// Makes the rule of a notification request. `object` has the format of rules files, but its texts contain no
    /// templates. Neutral texts and shared values are those of `book`. `otherKeys` are keys that the caller reads
    /// itself, for the error about an unknown key.
    package static func requested(
        _ object: JSONObject,
        by book: RuleBook,
        name: String,
        platforms: PlatformCatalog,
        blockChecks: BlockChecks,
        otherKeys: [String] = []
    ) throws(RequestedRuleError) -> Rule {
        let value = YAMLFile.reading(.object(object))
        let reader = RuleReader(
            number: 1,
            file: RulesFile(name: name, text: ""),
            context: RuleContext(platforms: platforms, checks: blockChecks),
            mentions: .raw
        )
        let rule = reader.requested(value, name: name, otherKeys)
        let mistakes = value.file.mistakes.map {
            RequestedRuleError.FieldError(pointer: $0.file, message: $0.message)
        }
        guard let rule, mistakes.isEmpty else { throw RequestedRuleError(mistakes: mistakes) }
        return Rule(rule, nudge: book.nudge, platforms: platforms)
    }
}

extension RuleReader {
    /// Reads a rule without conditions and signal.
    fileprivate func requested(_ value: YAMLValue, name: String, _ otherKeys: [String]) -> RuleDefinition? {
        // The keys about the event would describe an event that exists only in this router.
        let payloadKeys = RulePayload.keys(context.platforms).filter { $0 != "event_data" }
        let keys = otherKeys + RuleTexts.keys + payloadKeys + ["mode", "urgency"] + RulePace.keys
        guard let rule = value.mapping(keys: keys, missing: RuleBook.missingBlock) else { return nil }
        return RuleDefinition(
            name: name,
            place: nil,
            match: RuleMatch(),
            signal: nil,
            mode: rule["mode"].flatMap(mode) ?? .alert,
            urgency: rule["urgency"].flatMap(urgency) ?? .normal,
            texts: RuleTexts(reading: rule),
            payload: RulePayload(reading: rule, context, hasEvent: false),
            pace: RulePace(reading: rule, context.platforms),
            mentions: mentions
        )
    }
}

extension RuleBook {
    /// Returns the rule of that name in this book, or the first one if files have rules with the same name.
    package func rule(named name: String) -> Rule? { rules.first { $0.name == name && !$0.drops } }
}
