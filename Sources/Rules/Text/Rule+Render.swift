import Notifications

extension Rule {
    /// What this rule makes of `input` in the device's `language`. It shows at most `mode` and at most what the rule
    /// allows.
    ///
    /// `now` is in milliseconds since 1970; texts that tell how long ago something was need it. `isSilent`: no stricter
    /// form of it may show anything, see ``isSilent(on:)``.
    package func rendering(
        _ input: RuleInput,
        signal: Signal,
        mode: Mode,
        language: LanguageTag? = nil,
        isSilent: Bool = false,
        now: Int64 = 0
    ) -> Rendering {
        var rendering = content(of: input, signal: signal, mode: min(mode, self.mode), language: language, now: now)
        if isSilent { rendering.notification.silence() }
        rendering.notification.expiresAt = expiresAt(from: now)
        return rendering
    }

    /// The notification of ``rendering(_:signal:mode:language:isSilent:now:)``.
    package func render(
        _ input: RuleInput,
        signal: Signal,
        mode: Mode,
        language: LanguageTag? = nil,
        isSilent: Bool = false,
        now: Int64 = 0
    ) -> Notification {
        rendering(input, signal: signal, mode: mode, language: language, isSilent: isSilent, now: now).notification
    }

    /// Whether the rule sends nothing to `platform` for some events.
    package func mayWithhold(_ platform: String) -> Bool { payload.blocks.mayWithhold(platform) }

    /// When a push service should give up what the rule makes of an event now; 0: that is left to the transport. Both in
    /// milliseconds since 1970.
    package func expiresAt(from now: Int64) -> Int64 { payload.lifetime.end(from: now) }

    private func content(
        of input: RuleInput,
        signal: Signal,
        mode: Mode,
        language: LanguageTag?,
        now: Int64
    ) -> Rendering {
        guard mode > .wake else {
            var wakeUp = Notification.wake(signal, urgency: urgency)
            wakeUp.neutralPresentation.native = blocksOfWakeUps.render(TemplateValues(count: 1), now: now)
            return Rendering(notification: wakeUp)
        }
        let form = mode == .sealed ? cover : nudge
        let neutral = form.texts(count: 1, in: language)
        let presentation = form.presentation(count: 1, in: language, now: now)
        guard mode > .nudge else {
            return Rendering(notification: .nudge(signal, urgency: form.urgency(urgency), neutral, presentation))
        }
        let values = TemplateValues(input, now: now, mentions: mentions)
        var rendering = Rendering(
            notification: Notification(
                mode: mode,
                signal: signal,
                urgency: mode == .sealed ? form.urgency(urgency) : urgency,
                title: texts.title.render(values, in: language),
                subtitle: texts.subtitle.render(values, in: language),
                body: texts.body.render(values, in: language),
                category: texts.category.render(values),
                thread: texts.thread.render(values),
                collapseKey: texts.collapse.render(values),
                neutral: neutral,
                neutralPresentation: presentation
            )
        )
        rendering.notification.url = rendering.url(texts.url, values, of: "url")
        rendering.notification.actions = texts.actions.enumerated().map { number, action in
            NotificationAction(
                id: action.id.render(values),
                label: action.label.render(values, in: language),
                url: rendering.url(action.url, values, of: "actions[\(number)].url"),
                icon: action.icon.render(values)
            )
        }
        rendering.notification.data = payload.customKeys.render(input, values, now: now, into: &rendering)
        rendering.notification.native = payload.blocks.render(values, now: now, into: &rendering)
        return rendering
    }
}
