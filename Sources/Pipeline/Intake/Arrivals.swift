/// What a pipeline's thread finds in its intake at one time.
package struct Arrivals: Sendable {
    package var submissions: [Submission]
    /// The numbers of those fetches of which everything is in submissions by now.
    package var endedFetches: [Int]

    package init(submissions: [Submission] = [], endedFetches: [Int] = []) {
        self.submissions = submissions
        self.endedFetches = endedFetches
    }

    package var isEmpty: Bool { submissions.isEmpty && endedFetches.isEmpty }
}
