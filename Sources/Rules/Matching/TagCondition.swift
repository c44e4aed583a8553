import Nostr

/// What has to be true of an event's tags of one name; one tag for which all of it is true is enough.
struct TagCondition: Sendable {
    /// Which values of a tag are meant; one that fits is enough.
    enum Place: Sendable {
        /// The one that stands so far behind the name, from 1.
        case at(Int)
        case any

        func values(of tag: [String]) -> ArraySlice<String> {
            switch self {
            case .at(let index): tag.count > index ? tag[index...index] : []
            case .any: tag.dropFirst()
            }
        }
    }

    private let name: String
    /// There is no such tag.
    private let isAbsent: Bool
    /// The first value is the recipient's key.
    private let namesRecipient: Bool
    private let tests: [(place: Place, test: ValueTest)]
    private let matching: (place: Place, pattern: PatternCondition)?

    /// Whether there is such a tag, with a value or without.
    init(_ name: String, isPresent: Bool) {
        self.name = name
        isAbsent = !isPresent
        namesRecipient = false
        tests = []
        matching = nil
    }

    /// At most one of `tests` is a pattern, and none where it `namesRecipient`: its answer is kept for an event,
    /// whoever is asked about.
    init(_ name: String, _ tests: [(place: Place, test: ValueTest)], namesRecipient: Bool = false) {
        self.name = name
        isAbsent = false
        self.namesRecipient = namesRecipient
        self.tests = tests.filter { $0.test.pattern == nil }
        matching = tests.lazy.compactMap { place, test in test.pattern.map { (place, $0) } }.first
    }

    var pattern: PatternCondition? { matching?.pattern }

    /// Whether it holds only for events without a tag of that name.
    func rulesOut(_ tag: String) -> Bool { isAbsent && name == tag }

    func holds(for question: borrowing RuleQuestion) -> Bool {
        let event = question.event
        if isAbsent { return !event.tags.contains { $0.first == name } }
        guard let (place, pattern) = matching else {
            let recipient = question.recipient
            return event.tags.contains { fits($0, recipient) }
        }
        return pattern.holds(for: event) { event.tags.lazy.filter { fits($0, nil) }.flatMap(place.values) }
    }

    private func fits(_ tag: [String], _ recipient: PublicKey?) -> Bool {
        guard tag.first == name else { return false }
        if namesRecipient {
            guard let recipient, tag.count > 1, PublicKey(hex: tag[1]) == recipient else { return false }
        }
        return tests.allSatisfy { place, test in
            place.values(of: tag).contains { test.holdsWithoutPattern(for: $0) }
        }
    }
}
