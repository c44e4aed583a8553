import Notifications

extension RuleBook {
    /// One notification for `count` events that waited for each other.
    package func renderSummary(count: UInt32, signal: Signal, urgency: Urgency, mode: Mode) -> Notification {
        guard mode == .alert else { return .wake(signal, urgency: urgency, count: count) }
        let values = TemplateValues(count: count)
        return Notification(
            mode: .alert,
            signal: signal,
            urgency: urgency,
            count: count,
            title: summary.title.render(values),
            body: summary.body.render(values)
        )
    }
}
