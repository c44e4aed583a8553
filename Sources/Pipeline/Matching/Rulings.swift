import Nostr
import Notifications
import Registry
import Rules

/// What the rules decide about an event for one recipient, asked once for each kind of device that they distinguish.
struct Rulings {
    enum Ruling {
        case notify(Renderer)
        /// It wakes no such device. `isNew`: this is the first time that this ruling is given.
        case nobody(PipelineStep, reason: String, isNew: Bool)
    }

    /// The properties of a device that may matter to rules.
    private struct Asked: Equatable {
        let language: LanguageTag?
        let platform: String
        let app: String
    }

    private var question: RuleQuestion
    private let recipient: PublicKey
    private let relevance: Relevance
    private let renderers: EventRenderers
    /// One or a few.
    private var known = MostlyOne<(asked: Asked, ruling: Ruling)>()

    init(
        _ question: RuleQuestion,
        recipient: PublicKey,
        _ relevance: Relevance,
        _ renderers: EventRenderers
    ) {
        self.question = question
        self.recipient = recipient
        self.relevance = relevance
        self.renderers = renderers
    }

    /// `rules` are the same each time. A book is too large to be kept here for each recipient of an event.
    mutating func ruling(by rules: RuleBook, for language: LanguageTag?, _ route: Route) -> Ruling {
        let asked = Asked(
            language: rules.asksForLanguage ? language : nil,
            platform: rules.asksForPlatform ? route.platform : "",
            app: rules.asksForApp ? route.app : ""
        )
        if let ruling = known.first(where: { $0.asked == asked })?.ruling { return ruling }
        let (first, then) = decide(for: asked, by: rules)
        known.append((asked, then))
        return first
    }

    private mutating func decide(for asked: Asked, by rules: RuleBook) -> (first: Ruling, then: Ruling) {
        (question.language, question.platform, question.app) = (asked.language, asked.platform, asked.app)
        switch rules.decide(question) {
        case .unmatched: return nobody(.unmatched)
        case .drop(let rule): return nobody(.dropped, reason: rule.name)
        case .notify(let rule, let signal):
            let renderer = renderers.renderer(rule, signal, for: recipient, relevance)
            return (.notify(renderer), .notify(renderer))
        }
    }

    private func nobody(_ step: PipelineStep, reason: String = "") -> (first: Ruling, then: Ruling) {
        (.nobody(step, reason: reason, isNew: true), .nobody(step, reason: reason, isNew: false))
    }
}
