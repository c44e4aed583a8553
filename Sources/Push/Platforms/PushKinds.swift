import JSON

/// The kinds of push of a service, and the default pacing of each.
package struct PushKinds: Hashable, Sendable {
    /// The hourly limit of silent pushes for each device; nil means no separate limit.
    package let backgroundPerHour: Int?
    private let kinds: [PushKind]?

    /// The kinds of a platform that does not describe its pushes.
    package init() {
        backgroundPerHour = nil
        kinds = nil
    }

    init(_ reader: DescriptionReader) throws {
        let members = try reader.members("background_per_hour", "kinds")
        backgroundPerHour = try members["background_per_hour"]?.integer(in: 1...100_000)
        kinds = try members["kinds"]?.list().map { try PushKind($0) }
    }

    /// Returns the kind of the push that a block makes: the first whose condition holds.
    package func kind(of block: some BlockFacts) -> PushKind {
        let kind = kinds?.first { $0.when?.holds(block) ?? true }
        return kind?.applied(to: block)
            ?? (block.hasTexts ? PushKind.alert : .data).shown(
                [["title"], ["body"]].contains { block.value(at: $0) != nil } ? true : nil
            )
    }
}

/// One kind of push of a service.
package struct PushKind: Hashable, Sendable {
    /// The service's name of it, such as `liveactivity`.
    package let name: String
    /// The name for pacing; pushes with different names are never merged.
    package private(set) var paceName: String
    package private(set) var nature: PushNature
    package private(set) var pace: PushPace
    /// Whether `pace` overrides the rule.
    package private(set) var isFixed = false
    /// Whether it shows or plays anything; nil means only if the rule has texts.
    package private(set) var shows: Bool?
    fileprivate var when: Condition?
    private var variants: [Variant] = []

    /// Changes to a kind of push under a condition.
    private struct Variant: Hashable, Sendable {
        var when: Condition?
        var name: String?
        var nature: PushNature?
        var pace: PushPace?
        var isFixed: Bool?
        var shows: Bool?

        init(_ reader: DescriptionReader) throws {
            let members = try reader.members("when", "name", "nature", "pace", "fixed", "shows")
            when = try members["when"].map { try Condition($0) }
            name = try members["name"]?.text()
            nature = try members["nature"]?.nature()
            pace = try members["pace"]?.choice(PushPace.self)
            isFixed = try members["fixed"]?.flag()
            shows = try members["shows"]?.flag()
        }
    }

    /// A message with texts, unless a description defines it.
    package static let alert = PushKind(name: "alert", nature: .alert, pace: .batch)
    /// A message that only contains keys for the app.
    package static let data = PushKind(name: "data", nature: .silent, pace: .latest)

    private init(name: String, nature: PushNature, pace: PushPace) {
        self.name = name
        paceName = name
        self.nature = nature
        self.pace = pace
    }

    fileprivate init(_ reader: DescriptionReader) throws {
        let members = try reader.members("name", "when", "nature", "pace", "fixed", "shows", "variants", "doc")
        let name = try members.required("name", of: reader).text()
        let nature = try members.required("nature", of: reader).nature()
        self.init(name: name, nature: nature, pace: try members.required("pace", of: reader).choice(PushPace.self))
        when = try members["when"].map { try Condition($0) }
        isFixed = try members["fixed"]?.flag() ?? false
        shows = try members["shows"]?.flag()
        variants = try members["variants"]?.list().map { try Variant($0) } ?? []
    }

    /// Returns this kind with all variants that apply to `block`; the first that sets a member wins.
    fileprivate func applied(to block: some BlockFacts) -> PushKind {
        var kind = self
        for variant in variants.reversed() where variant.when?.holds(block, kind: name) ?? true {
            if let name = variant.name { kind.paceName = name }
            if let nature = variant.nature { kind.nature = nature }
            if let pace = variant.pace { kind.pace = pace }
            if let isFixed = variant.isFixed { kind.isFixed = isFixed }
            if let shows = variant.shows { kind.shows = shows }
        }
        return kind
    }

    fileprivate func shown(_ shows: Bool?) -> PushKind {
        var kind = self
        kind.shows = shows
        return kind
    }
}

extension DescriptionReader {
    fileprivate func nature() throws -> PushNature {
        switch try text() {
        case "alert": .alert
        case "silent": .silent
        case "special": .special
        default: throw error("expected one of alert, silent, special")
        }
    }
}

/// A key of a block that sets how a notification attracts attention, and not its content. A stricter mode keeps its
/// value if it is the same for every event.
package struct PresentationKey: Hashable, Sendable {
    package let name: String
    /// The values as JSON from the quietest to the loudest, if they have such an order.
    package let order: [String]
    /// The meaning of a missing key, one of `order`.
    package let absent: String?
    /// Whether the presence of the key can make a notification louder.
    package let isLoud: Bool
    /// Whether its value may identify a rule. A sealed push keeps it only if all rules have the same value.
    package let tellsRule: Bool
    /// The replacement of such a value in the visible part of a sealed push, as JSON; nil if there is none.
    package let sealed: String?
    /// The members of a key that has an object.
    package let members: [PresentationKey]

    init(_ reader: DescriptionReader) throws {
        let members = try reader.members("key", "order", "absent", "loud", "tells_rule", "sealed", "members")
        name = try members.required("key", of: reader).text()
        order = try members["order"]?.list().map(\.value.json) ?? []
        absent = members["absent"]?.value.json
        isLoud = try members["loud"]?.flag() ?? false
        tellsRule = try members["tells_rule"]?.flag() ?? false
        sealed = members["sealed"]?.value.json
        self.members = try members["members"]?.list().map { try PresentationKey($0) } ?? []
        if let absent, !order.contains(absent) {
            throw reader.error("expected 'absent' to be one of 'order'")
        }
    }
}

/// The values that a summary of several events gets from the blocks of its rules.
package struct SummaryBlock: Hashable, Sendable {
    /// The condition that a rule's block must meet to count, if any. If no rule counts, there is no block.
    package let of: Condition?
    /// Whether only rules that show something count.
    package let isOfShownRules: Bool
    package let members: [Member]

    package struct Member: Hashable, Sendable {
        package let path: KeyPath
        /// Its value as JSON, regardless of the rules.
        package let always: String?
        /// The value if the rules' blocks differ; nil omits the key.
        package let differing: String?
        /// The value if some rule's block lacks the key.
        package let unlessAll: Choice
        /// The value if no event is more urgent than low.
        package let quiet: Choice
    }

    /// The value of a member in one case, if the document sets it.
    package enum Choice: Hashable, Sendable {
        case unnamed
        case leftOut
        case json(String)

        fileprivate init(_ reader: DescriptionReader?) {
            switch reader?.value {
            case nil: self = .unnamed
            case .null?: self = .leftOut
            case let value?: self = .json(value.json)
            }
        }
    }

    init(_ reader: DescriptionReader) throws {
        let members = try reader.members("of", "shown", "members")
        of = try members["of"].map { try Condition($0) }
        isOfShownRules = try members["shown"]?.flag() ?? false
        self.members = try members.required("members", of: reader).list().map { reader in
            let members = try reader.members("key", "always", "differing", "unless_all", "quiet")
            return Member(
                path: try members.required("key", of: reader).keyPath(),
                always: members["always"]?.value.json,
                differing: members["differing"]?.value.json,
                unlessAll: Choice(members["unless_all"]),
                quiet: Choice(members["quiet"])
            )
        }
    }
}

extension JSONValue {
    /// The value as compact JSON text.
    package var json: String {
        switch self {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .number(let digits): digits
        case .string(let text): Self.quoted(text)
        case .array(let elements): "[" + elements.map(\.json).joined(separator: ",") + "]"
        case .object(let object):
            "{" + object.members.map { Self.quoted($0.name) + ":" + $0.value.json }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case let scalar where scalar.value < 0x20 || scalar.value == 0x7F:
                quoted += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
