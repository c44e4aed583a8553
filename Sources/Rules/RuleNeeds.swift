/// What a rule's notification speaks of that does not stand in the event itself.
package struct RuleNeeds: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let authorName = RuleNeeds(rawValue: 1)
    /// Kind and content of the event referred to.
    package static let referencedEvent = RuleNeeds(rawValue: 2)
    /// The name of that event's author.
    package static let referencedAuthorName = RuleNeeds(rawValue: 4)
    /// Names and excerpts of those whom and what texts mention.
    package static let mentions = RuleNeeds(rawValue: 8)
    /// All there are, and those of later versions.
    package static let everything = RuleNeeds(rawValue: .max)

    /// Whether profiles are worth keeping.
    package var readsProfiles: Bool { !isDisjoint(with: [.authorName, .referencedAuthorName, .mentions]) }
    /// Whether what notes say is worth keeping.
    package var readsNotes: Bool { !isDisjoint(with: [.referencedEvent, .mentions]) }
}
