import Delivery

/// What a pipeline's thread finds in its intake at one time.
package struct Arrivals: Sendable {
    package var submissions: [Submission]
    /// The numbers of those fetches of which everything is in submissions by now.
    package var endedFetches: [Int]
    /// Those among them that no relay answered.
    package var unansweredFetches: Set<Int>
    /// Deliveries that the courier brought to their end.
    package var ends: [PushEnd]
    /// Settings that are to be in force from these submissions on, in their order.
    package var settings: [SettingsChange] = []

    package init(
        submissions: [Submission] = [],
        endedFetches: [Int] = [],
        unansweredFetches: Set<Int> = [],
        ends: [PushEnd] = []
    ) {
        self.submissions = submissions
        self.endedFetches = endedFetches
        self.unansweredFetches = unansweredFetches
        self.ends = ends
    }

    package var isEmpty: Bool { submissions.isEmpty && endedFetches.isEmpty && ends.isEmpty && settings.isEmpty }
}
