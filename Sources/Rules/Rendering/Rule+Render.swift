import Notifications

extension Rule {
    /// The notification this rule makes of `input`, showing at most `mode` and at most what the rule allows.
    package func render(_ input: RuleInput, signal: Signal, mode: Mode) -> Notification {
        guard min(mode, self.mode) == .alert else { return .wake(signal, urgency: urgency) }
        let values = TemplateValues(input)
        return Notification(
            mode: .alert,
            signal: signal,
            urgency: urgency,
            title: texts.title.render(values),
            subtitle: texts.subtitle.render(values),
            body: texts.body.render(values),
            category: texts.category.render(values),
            thread: texts.thread.render(values),
            collapseKey: texts.collapse.render(values),
            url: texts.url.render(values),
            actions: texts.actions.map {
                NotificationAction(
                    id: $0.id.render(values),
                    label: $0.label.render(values),
                    url: $0.url.render(values),
                    icon: $0.icon.render(values)
                )
            },
            data: EventData(input).json,
            native: native
        )
    }
}
