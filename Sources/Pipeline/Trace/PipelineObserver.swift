/// Learns how many events came to which end. Called once a batch, on the pipeline's thread: hand on, and return soon.
package protocol PipelineObserver: Sendable {
    func record(_ counts: [PipelineStep: Int])
    /// How many devices filters spared a batch's events, by the filter's name. Not called for a batch in which none did.
    func filtered(_ counts: [String: Int])
    /// How often the rules' values came out unfit for their keys, so that a push went without or was not sent. Not
    /// called for a batch in which all values fit.
    func leftOut(_ counts: [RuleValue: Int])
    /// The steps of a batch that are worth keeping, in order; `time` is the batch's, in milliseconds since 1970. Not called
    /// for a batch that has none.
    func trace(_ steps: [TraceStep], at time: Int64)
}

extension PipelineObserver {
    package func filtered(_ counts: [String: Int]) {}
    package func leftOut(_ counts: [RuleValue: Int]) {}
    package func trace(_ steps: [TraceStep], at time: Int64) {}
}

/// A value of a rule, by the rule's name and where the value stands in it, such as `apns.relevance-score`.
package struct RuleValue: Hashable, Sendable {
    package let rule: String
    package let key: String

    package init(rule: String, key: String) {
        self.rule = rule
        self.key = key
    }
}
