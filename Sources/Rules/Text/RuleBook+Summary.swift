import Notifications

extension RuleBook {
    /// One notification for `count` events that waited for each other, in the device's language.
    package func renderSummary(
        count: UInt32,
        signal: Signal,
        urgency: Urgency,
        mode: Mode,
        language: LanguageTag? = nil
    ) -> Notification {
        guard mode > .wake else { return .wake(signal, urgency: urgency, count: count) }
        let neutral = nudge.render(count: count, in: language)
        guard mode > .nudge else { return .nudge(signal, urgency: urgency, count: count, neutral) }
        let values = TemplateValues(count: count)
        return Notification(
            mode: mode,
            signal: signal,
            urgency: urgency,
            count: count,
            title: summary.title.render(values, in: language),
            body: summary.body.render(values, in: language),
            neutral: neutral
        )
    }
}
