import Units

/// What the rules make of an event, independent of any platform. A transport plugin turns it into its push service's
/// request.
///
/// In ``Mode/wake`` only `signal` and `count` are set, in ``Mode/nudge`` the neutral texts and their presentation
/// besides. In ``Mode/sealed`` either ``sealed`` holds all the rest, or the transport encrypts what is here. Text is
/// UTF-8 of any length; the transport shortens.
package struct Notification: Sendable, Hashable {
    package var mode: Mode
    package var urgency: Urgency
    /// Events this one stands for, at least 1; more than 1 is a batch.
    package var count: UInt32
    package var signal: Signal
    package var title: String
    package var subtitle: String
    package var body: String
    package var category: String
    package var thread: String
    package var collapseKey: String
    package var url: String
    package var actions: [NotificationAction]
    /// A JSON object of custom keys for the app, as text; empty: none.
    package var data: String
    /// The rule's block for one platform as a JSON object, by platform name (`ios`, `android`, …).
    package var native: [String: String]
    /// When a push service should give up; the epoch: the transport's default.
    package var expiresAt: Timestamp
    /// Neutral texts for where the real ones may not be seen or do not fit; empty for what shows nothing in any mode.
    package var neutral: NeutralTexts
    /// How ``neutral`` is shown. A wake-up has only what platforms need that show wake-ups to people.
    package var neutralPresentation: Presentation
    /// A JSON object: the envelope around the encrypted notification; empty if nothing is encrypted yet.
    package var sealed: String

    package init(
        mode: Mode,
        signal: Signal,
        urgency: Urgency = .normal,
        count: UInt32 = 1,
        title: String = "",
        subtitle: String = "",
        body: String = "",
        category: String = "",
        thread: String = "",
        collapseKey: String = "",
        url: String = "",
        actions: [NotificationAction] = [],
        data: String = "",
        native: [String: String] = [:],
        expiresAt: Timestamp = .epoch,
        neutral: NeutralTexts = NeutralTexts(),
        neutralPresentation: Presentation = Presentation(),
        sealed: String = ""
    ) {
        self.mode = mode
        self.urgency = urgency
        self.count = count
        self.signal = signal
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.category = category
        self.thread = thread
        self.collapseKey = collapseKey
        self.url = url
        self.actions = actions
        self.data = data
        self.native = native
        self.expiresAt = expiresAt
        self.neutral = neutral
        self.neutralPresentation = neutralPresentation
        self.sealed = sealed
    }

    /// A wake-up: that something happened, and nothing else.
    package static func wake(_ signal: Signal, urgency: Urgency, count: UInt32 = 1) -> Notification {
        Notification(mode: .wake, signal: signal, urgency: urgency, count: count)
    }

    /// A visible text without sender or content. Without a text it is a wake-up: there would be nothing to see.
    package static func nudge(
        _ signal: Signal,
        urgency: Urgency,
        count: UInt32 = 1,
        _ texts: NeutralTexts,
        _ presentation: Presentation = Presentation()
    ) -> Notification {
        guard !texts.isEmpty else { return .wake(signal, urgency: urgency, count: count) }
        return Notification(
            mode: .nudge,
            signal: signal,
            urgency: urgency,
            count: count,
            neutral: texts,
            neutralPresentation: presentation
        )
    }

    /// Removes what its stricter forms would show; a nudge becomes a wake-up.
    package mutating func silence() {
        if mode == .nudge, let stricter { self = stricter }
        neutral = NeutralTexts()
        neutralPresentation = Presentation()
    }

    /// The same notification in the next stricter mode: a nudge for a sealed or readable one, a wake-up for a nudge and
    /// for what shows nothing, and nil after that.
    package var stricter: Notification? {
        var notification: Notification
        switch mode {
        case .wake: return nil
        case .nudge: notification = .wake(signal, urgency: urgency, count: count)
        case .sealed, .alert:
            notification = .nudge(signal, urgency: urgency, count: count, neutral, neutralPresentation)
        }
        notification.expiresAt = expiresAt
        return notification
    }

    /// What to send instead after `outcome`: the stricter form if this one is too large for the push service, if the
    /// transport does not support its mode, or if it has nothing to show. Nil if `outcome` is final.
    package func downgraded(after outcome: Outcome) -> Notification? {
        guard outcome.kind == .rejected else { return nil }
        switch outcome.reason {
        case "payload-too-large", "unsupported", "payload-empty": return stricter
        default: return nil
        }
    }
}

/// A button of a notification (seed 002).
package struct NotificationAction: Sendable, Hashable {
    /// What the app learns when the button is tapped, in reverse domain notation.
    package var id: String
    /// The text on the button, already in the reader's language.
    package var label: String
    /// The URL to open; empty: the notification's own `url`.
    package var url: String
    /// An SF Symbol name; empty: none.
    package var icon: String

    package init(id: String, label: String, url: String = "", icon: String = "") {
        self.id = id
        self.label = label
        self.url = url
        self.icon = icon
    }
}

/// How a notification is shown and what it opens, apart from its first lines. Stricter modes keep it: nothing in it
/// comes from an event.
package struct Presentation: Sendable, Hashable {
    package var subtitle: String
    package var category: String
    package var thread: String
    package var collapseKey: String
    package var url: String
    package var actions: [NotificationAction]
    /// A JSON object of custom keys for the app, as text; empty: none.
    package var data: String
    /// The block for one platform as a JSON object, by platform name (`ios`, `android`, …).
    package var native: [String: String]

    package init(
        subtitle: String = "",
        category: String = "",
        thread: String = "",
        collapseKey: String = "",
        url: String = "",
        actions: [NotificationAction] = [],
        data: String = "",
        native: [String: String] = [:]
    ) {
        self.subtitle = subtitle
        self.category = category
        self.thread = thread
        self.collapseKey = collapseKey
        self.url = url
        self.actions = actions
        self.data = data
        self.native = native
    }

    /// Whether there is nothing to keep.
    package var isEmpty: Bool { self == Presentation() }
}

/// The texts of a notification without sender or content (``Mode/nudge``), and those around a sealed one.
package struct NeutralTexts: Sendable, Hashable {
    package var title: String
    package var body: String

    package init(title: String = "", body: String = "") {
        self.title = title
        self.body = body
    }

    package var isEmpty: Bool { title.isEmpty && body.isEmpty }
}
