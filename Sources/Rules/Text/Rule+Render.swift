import Notifications

extension Rule {
    /// The notification this rule makes of `input`, showing at most `mode` and at most what the rule allows, in the device's
    /// `language`.
    ///
    /// `now` is in milliseconds since 1970; texts that tell how long ago something was need it.
    package func render(
        _ input: RuleInput,
        signal: Signal,
        mode: Mode,
        language: LanguageTag? = nil,
        now: Int64 = 0
    ) -> Notification {
        var notification = content(of: input, signal: signal, mode: min(mode, self.mode), language: language, now: now)
        notification.expiresAt = expiresAt(from: now)
        return notification
    }

    /// When a push service should give up what the rule makes of an event now; 0: that is left to the transport. Both in
    /// milliseconds since 1970.
    package func expiresAt(from now: Int64) -> Int64 { payload.lifetime.end(from: now) }

    private func content(
        of input: RuleInput,
        signal: Signal,
        mode: Mode,
        language: LanguageTag?,
        now: Int64
    ) -> Notification {
        guard mode > .wake else { return .wake(signal, urgency: urgency) }
        let neutral = nudge.render(count: 1, in: language)
        guard mode > .nudge else { return .nudge(signal, urgency: urgency, neutral) }
        let values = TemplateValues(input, now: now)
        return Notification(
            mode: mode,
            signal: signal,
            urgency: urgency,
            title: texts.title.render(values, in: language),
            subtitle: texts.subtitle.render(values, in: language),
            body: texts.body.render(values, in: language),
            category: texts.category.render(values),
            thread: texts.thread.render(values),
            collapseKey: texts.collapse.render(values),
            url: AbsoluteURL.ifOne(texts.url.render(values)),
            actions: texts.actions.map {
                NotificationAction(
                    id: $0.id.render(values),
                    label: $0.label.render(values, in: language),
                    url: AbsoluteURL.ifOne($0.url.render(values)),
                    icon: $0.icon.render(values)
                )
            },
            data: payload.customKeys.render(input, values, now: now),
            native: payload.blocks.render(values, now: now),
            neutral: neutral
        )
    }
}
