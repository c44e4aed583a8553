/// Events that came in together, and whom to tell what became of them.
package struct Submission: Sendable {
    /// The bytes of one JSON object each.
    package let events: [[UInt8]]
    package let source: EventSource
    /// Called once, on the pipeline's thread or, when refused, the submitter's, with a verdict for each event in order.
    package let completion: @Sendable ([EventVerdict]) -> Void

    package init(events: [[UInt8]], source: EventSource, completion: @escaping @Sendable ([EventVerdict]) -> Void) {
        self.events = events
        self.source = source
        self.completion = completion
    }
}
