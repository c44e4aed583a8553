import Notifications

/// The notification that a rule makes of an event, and the values that are missing from it.
package struct Rendering: Sendable {
    package var notification: Notification
    /// The values that are left out.
    private(set) var omissions: [Omission] = []

    package init(notification: Notification) {
        self.notification = notification
    }

    /// A value that is left out, because variables gave something that its key does not take.
    struct Omission: Hashable, Sendable {
        /// Its path in the rule, such as `data.amount`.
        let key: String
        /// The platform of its block; nil: it is for all.
        let platform: String?
        /// Whether the platform gets no push, because it would refuse the block without this value.
        let withholds: Bool
    }

    /// The keys of the rule that are missing from a push to `platform`; nil is for a push without any platform's block.
    package func keysLeftOut(for platform: String?) -> [String] {
        omissions.filter { $0.platform == nil || $0.platform == platform }.map(\.key)
    }

    /// The missing keys without which nothing may be sent to `platform`; empty if a push may go.
    package func keysWithholding(_ platform: String) -> [String] {
        omissions.filter { $0.platform == platform && $0.withholds }.map(\.key)
    }

    /// Records omissions at `paths` below `key`. They `withhold` the push if the `platform` needs these values.
    mutating func leaveOut(_ paths: OmittedPaths, of key: String, platform: String? = nil, withholds: Bool = false) {
        var paths = paths
        paths.put(key, beforeThoseSince: 0)
        omissions += paths.paths.map { Omission(key: $0, platform: platform, withholds: withholds) }
    }

    /// The URL that `template` gives, or nothing. Records an omission if the template gave something else, or is only a
    /// variable.
    mutating func url(_ template: Template, _ values: TemplateValues, of key: String) -> String {
        let text = template.render(values)
        let url = AbsoluteURL.ifOne(text)
        if url.isEmpty, !text.isEmpty || template.isWholeURL {
            omissions.append(Omission(key: key, platform: nil, withholds: false))
        }
        return url
    }
}

extension Rule {
    /// This rule's notification for `input` in the device's `language`, in the stricter of `mode` and the rule's mode.
    ///
    /// `now` is in milliseconds since 1970; relative times need it. `isSilent`: no stricter form may show anything, see
    /// ``isSilent(on:)``.
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

    /// When a push service should give up the rule's notification, in milliseconds since 1970, as is `now`; 0: the
    /// transport decides.
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
