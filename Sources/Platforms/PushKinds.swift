import Notifications

/// What kinds of push a service has, and how pacing treats each unless a rule says otherwise.
package struct PushKinds: Hashable, Sendable {
    /// How many silent pushes a device gets in an hour; nil: as many as of anything else.
    package let silentPerHour: Int?
    private let kinds: [PushKind]?

    /// Of a platform that says nothing about its pushes.
    package init() {
        silentPerHour = nil
        kinds = nil
    }

    init(_ reader: DescriptionReader) throws {
        let members = try reader.members("silent_per_hour", "kinds")
        silentPerHour = try members["silent_per_hour"]?.integer(in: 1...100_000)
        kinds = try members["kinds"]?.list().map { try PushKind($0) }
    }

    /// The kind of the push that a block makes: the first whose condition holds.
    package func kind(of block: some BlockFacts) -> PushKind {
        let kind = kinds?.first { $0.when?.holds(block) ?? true }
        return kind?.applied(to: block)
            ?? (block.hasTexts ? PushKind.alert : .data).shown(
                [["title"], ["body"]].contains { block.value(at: $0) != nil } ? true : nil
            )
    }

    /// Whether the kind of a push depends on what a rule says besides its block, and not only on what is there.
    package var comparesRules: Bool { kinds?.contains(where: \.comparesRules) ?? false }
}

/// One kind of push of a service.
package struct PushKind: Hashable, Sendable {
    /// The service's word for it, such as `liveactivity`.
    package let name: String
    /// The name for pacing, which lets pushes of two names never become one.
    package private(set) var paceName: String
    package private(set) var nature: PushNature
    package private(set) var pace: PushPace
    /// Whether `pace` holds whatever the rule says.
    package private(set) var isFixed = false
    /// Whether it shows or plays anything; nil: if the rule has texts.
    package private(set) var shows: Bool?
    fileprivate var when: Condition?
    private var variants: [Variant] = []

    /// What a kind of push says otherwise where a condition holds.
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

    /// A message with texts, unless a description says otherwise.
    package static let alert = PushKind(name: "alert", nature: .alert, pace: .batch)
    /// A message with nothing but keys for the app.
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

    fileprivate var comparesRules: Bool {
        ([when] + variants.map(\.when)).contains { $0?.comparesRules ?? false }
    }

    /// This kind as all variants that hold for `block` make it; the first that names a member decides it.
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
