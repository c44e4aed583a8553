import Push

/// The sounds and similar attributes of a rule's notifications: its blocks' values for ``PresentationKey``s. A value
/// with variables counts as the quietest one.
struct RulePresentation: Sendable {
    /// The rule's category, unless it has variables.
    let category: String?
    private let blocks: PlatformBlocks
    /// Whether the rule may show more than a nudge. If so, stricter forms must not be louder.
    private let isBounding: Bool
    private let platforms: PlatformCatalog

    init(_ texts: RuleTexts, _ blocks: PlatformBlocks, mode: Mode, _ platforms: PlatformCatalog) {
        self.platforms = platforms
        category = texts.category.literal.flatMap { $0.isEmpty ? nil : $0 }
        self.blocks = blocks
        isBounding = mode > .nudge
    }

    /// Returns the blocks of the stricter forms of this rule's notifications, combined from `common` in the file and
    /// this rule's. `shared` is set for the visible part of a sealed push.
    func joined(with common: PlatformBlocks, sealedAmong shared: SharedPresentation? = nil) -> PlatformBlocks {
        let all = Set(common.platforms).union(blocks.platforms.filter { !keys(of: $0).isEmpty })
        return PlatformBlocks(
            all.sorted().compactMap { platform in
                let members = joined(
                    blocks.members(of: platform),
                    common.members(of: platform),
                    keys(of: platform)
                ) { shared?.seal($0, of: $1, on: platform) ?? (shared == nil ? $0 : nil) }
                return members.isEmpty ? nil : (platform, .joined(members))
            }
        )
    }

    /// The blocks of wake-ups on platforms that show them to people.
    var blocksOfWakeUps: PlatformBlocks {
        PlatformBlocks(
            platforms.platforms.filter { platforms[$0]?.showsWakeUps ?? false }.compactMap { platform in
                let own = joined(blocks.members(of: platform), [], keys(of: platform)) { value, _ in value }
                return own.isEmpty ? nil : (platform, .joined(own))
            }
        )
    }

    private func keys(of platform: String) -> [PresentationKey] { platforms[platform]?.presentation ?? [] }

    /// Combines `own` members of the rule with `common` ones of the file. `seal` reduces a value of the rule to its
    /// visible part.
    private func joined(
        _ own: [JSONTemplate.Member],
        _ common: [JSONTemplate.Member],
        _ keys: [PresentationKey],
        seal: (JSONTemplate, PresentationKey) -> JSONTemplate?
    ) -> [JSONTemplate.Member] {
        let kept = keys.compactMap { key -> JSONTemplate.Member? in
            let mine = own.first { $0.key == key.name }?.value
            let theirs = common.first { $0.key == key.name }?.value
            let value: JSONTemplate?
            if !key.members.isEmpty {
                value = .joined(joined(mine?.members ?? [], theirs?.members ?? [], key.members, seal: seal))
            } else if let mine {
                value = said(mine.json == nil ? nil : seal(mine, key), theirs, key)
            } else {
                value = isBounding && key.isLoud ? unsaid(theirs, key) : theirs
            }
            return value.flatMap { $0.json == "{}" ? nil : JSONTemplate.Member(key: key.name, value: $0) }
        }
        return common.filter { member in !keys.contains { $0.name == member.key } } + kept
    }

    /// The value of a key that the rule has; `mine` is the visible part of the rule's value.
    private func said(_ mine: JSONTemplate?, _ theirs: JSONTemplate?, _ key: PresentationKey) -> JSONTemplate? {
        let own = mine ?? key.order.first.map { .constant(Array($0.utf8)) }
        guard isBounding else { return own ?? theirs }
        return key.order.isEmpty ? theirs ?? own : key.quieter(theirs, own)
    }

    /// The value of a key that only the file has, and that could make the notification louder.
    private func unsaid(_ theirs: JSONTemplate?, _ key: PresentationKey) -> JSONTemplate? {
        guard let theirs, let absent = key.absent else { return nil }
        return key.quieter(theirs, .constant(Array(absent.utf8)))
    }
}

/// Values that all rules of a book share, so that they do not identify a rule.
struct SharedPresentation: Sendable, Hashable {
    /// JSON by platform and key.
    private var values: [String: [String: String]] = [:]
    /// The common category.
    private(set) var category: String?

    init() {}

    /// `rules` are the texts and blocks of all rules that send notifications.
    init(_ rules: [(texts: RuleTexts, blocks: PlatformBlocks)], _ platforms: PlatformCatalog) {
        guard let first = rules.first else { return }
        if let literal = first.texts.category.literal, !literal.isEmpty,
            rules.allSatisfy({ $0.texts.category.literal == literal })
        {
            category = literal
        }
        for platform in platforms.platforms {
            guard let keys = platforms[platform]?.presentation, !keys.isEmpty else { continue }
            let all = rules.map { Self.values(of: keys, in: $0.blocks.members(of: platform)) }
            values[platform] = all[0].filter { name, json in all.allSatisfy { $0[name] == json } }
        }
    }

    /// The visible part of a rule's value in a sealed push; nil if there is none.
    fileprivate func seal(_ value: JSONTemplate, of key: PresentationKey, on platform: String) -> JSONTemplate? {
        guard key.tellsRule, values[platform]?[key.name] != value.json else { return value }
        return key.sealed.map { .constant(Array($0.utf8)) }
    }

    private static func values(of keys: [PresentationKey], in members: [JSONTemplate.Member]) -> [String: String] {
        keys.reduce(into: [:]) { values, key in
            guard let value = members.first(where: { $0.key == key.name })?.value else { return }
            if key.members.isEmpty {
                values[key.name] = value.json
            } else {
                values.merge(Self.values(of: key.members, in: value.members ?? [])) { $1 }
            }
        }
    }
}

extension PresentationKey {
    /// The quieter of two values, or the only one.
    fileprivate func quieter(_ one: JSONTemplate?, _ other: JSONTemplate?) -> JSONTemplate? {
        guard let one, let other else { return one ?? other }
        func place(_ value: JSONTemplate) -> Int { value.json.flatMap { order.firstIndex(of: $0) } ?? 0 }
        return place(one) <= place(other) ? one : other
    }
}
