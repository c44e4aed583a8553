import Nostr
import Notifications
import Rules

/// What the rules say of an event for one recipient, asked once for each language of its devices.
struct Rulings {
    enum Ruling {
        case tell(Renderer)
        /// It wakes nobody of that language; `isNew` the first time that it is said.
        case nobody(PipelineStep, reason: String, isNew: Bool)
    }

    private let rules: RuleBook
    private var question: RuleQuestion
    private let recipient: PublicKey
    private let concern: EventConcern
    /// One or a few.
    private var known: [(language: LanguageTag?, ruling: Ruling)] = []

    init(_ rules: RuleBook, _ question: RuleQuestion, recipient: PublicKey, _ concern: EventConcern) {
        self.rules = rules
        self.question = question
        self.recipient = recipient
        self.concern = concern
    }

    mutating func ruling(for language: LanguageTag?) -> Ruling {
        if let ruling = known.first(where: { $0.language == language })?.ruling { return ruling }
        let (first, then) = decide(for: language)
        known.append((language, then))
        return first
    }

    private mutating func decide(for language: LanguageTag?) -> (first: Ruling, then: Ruling) {
        question.language = language
        switch rules.decide(question) {
        case .unmatched: return nobody(.unmatched)
        case .drop(let rule): return nobody(.dropped, reason: rule.name)
        case .notify(let rule, let signal):
            let renderer = Renderer(
                rule: rule,
                signal: signal,
                event: question.event,
                recipient: recipient,
                concern: concern
            )
            return (.tell(renderer), .tell(renderer))
        }
    }

    private func nobody(_ step: PipelineStep, reason: String = "") -> (first: Ruling, then: Ruling) {
        (.nobody(step, reason: reason, isNew: true), .nobody(step, reason: reason, isNew: false))
    }
}
