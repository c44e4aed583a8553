import Nostr

/// What has to be true of the content or of the tags of a name.
struct ValueCondition: Sendable {
    enum Source: Sendable, Hashable {
        case content
        /// The first values of all tags of that name; one that fits is enough.
        case tag(String)
    }

    enum Test: Sendable {
        /// There is such a tag, with a value or without.
        case present
        case absent
        case equals([String])
        case matches(PatternCondition)
    }

    let source: Source
    let test: Test

    /// The pattern to match, which is dear.
    var pattern: PatternCondition? {
        if case .matches(let pattern) = test { pattern } else { nil }
    }

    func holds(for event: Event) -> Bool {
        switch (source, test) {
        case (.content, .present): !event.content.isEmpty
        case (.content, .absent): event.content.isEmpty
        case (.content, .equals(let values)): values.contains(event.content)
        case (.content, .matches(let pattern)): pattern.holds(forContentOf: event)
        case (.tag(let name), .present): event.tags.contains { $0.first == name }
        case (.tag(let name), .absent): !event.tags.contains { $0.first == name }
        case (.tag(let name), .equals(let values)):
            event.tags.contains { $0.count > 1 && $0[0] == name && values.contains($0[1]) }
        case (.tag(let name), .matches(let pattern)): pattern.holds(forTags: name, of: event)
        }
    }
}
