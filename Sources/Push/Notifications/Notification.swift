import Core

/// A notification that rules made from an event, independent of any platform. A transport plugin turns it into its push
/// service's request.
///
/// In ``Mode/wake`` its only content is `signal` and `count`; ``Mode/nudge`` adds neutral texts and their presentation.
/// In ``Mode/sealed`` either ``sealed`` contains all the rest, or the transport encrypts the fields here. Texts are
/// UTF-8 of any length; the transport shortens them.
package struct Notification: Sendable, Hashable {
    private struct Fields: Sendable, Hashable {
        var mode: Mode
        var urgency: Urgency
        var count: UInt32
        var signal: Signal
        var title: String
        var subtitle: String
        var body: String
        var category: String
        var thread: String
        var collapseKey: String
        var url: String
        var actions: [NotificationAction]
        var data: String
        var native: [String: String]
        var expiresAt: Timestamp
        var neutral: NeutralTexts
        var neutralPresentation: Presentation
        var sealed: String
    }

    // Unchecked, because it changes only while a single notification refers to it.
    private final class Storage: @unchecked Sendable {
        var fields: Fields
        var origin: EventOrigin?

        init(_ fields: Fields, _ origin: EventOrigin? = nil) {
            self.fields = fields
            self.origin = origin
        }
    }

    /// Shared by copies until one of them changes. A notification is copied about twenty times, and each copy of its
    /// thirty strings would need reference counting.
    private var storage: Storage

    private var fields: Fields {
        _read { yield storage.fields }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.fields, storage.origin) }
            yield &storage.fields
        }
    }

    /// The event that it is about; nil for a batch, and for a notification without an event. It is not sent to push
    /// services, and not compared by `==`.
    package var origin: EventOrigin? {
        get { storage.origin }
        set {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.fields, newValue) }
            storage.origin = newValue
        }
    }

    package static func == (left: Notification, right: Notification) -> Bool {
        left.storage === right.storage || left.fields == right.fields
    }

    /// An id that is the same for copies of one notification, while one of them exists. Other notifications may still
    /// be equal.
    package var identity: ObjectIdentifier { ObjectIdentifier(storage) }

    package func hash(into hasher: inout Hasher) { hasher.combine(fields) }

    package var mode: Mode {
        get { fields.mode }
        set { fields.mode = newValue }
    }
    package var urgency: Urgency {
        get { fields.urgency }
        set { fields.urgency = newValue }
    }
    /// The number of events in this notification, at least 1; more than 1 for a batch.
    package var count: UInt32 {
        get { fields.count }
        set { fields.count = newValue }
    }
    package var signal: Signal {
        get { fields.signal }
        set { fields.signal = newValue }
    }
    package var title: String {
        get { fields.title }
        set { fields.title = newValue }
    }
    package var subtitle: String {
        get { fields.subtitle }
        set { fields.subtitle = newValue }
    }
    package var body: String {
        get { fields.body }
        set { fields.body = newValue }
    }
    package var category: String {
        get { fields.category }
        set { fields.category = newValue }
    }
    package var thread: String {
        get { fields.thread }
        set { fields.thread = newValue }
    }
    package var collapseKey: String {
        get { fields.collapseKey }
        set { fields.collapseKey = newValue }
    }
    package var url: String {
        get { fields.url }
        set { fields.url = newValue }
    }
    package var actions: [NotificationAction] {
        get { fields.actions }
        set { fields.actions = newValue }
    }
    /// A JSON object of custom keys for the app, as text; empty if there are none.
    package var data: String {
        get { fields.data }
        set { fields.data = newValue }
    }
    /// The rule's block for one platform as a JSON object, by platform name (`ios`, `android`, …).
    package var native: [String: String] {
        get { fields.native }
        set { fields.native = newValue }
    }
    /// When a push service should drop it; the epoch means the transport's default.
    package var expiresAt: Timestamp {
        get { fields.expiresAt }
        set { fields.expiresAt = newValue }
    }
    /// Neutral texts to show instead if the real ones must not be seen or do not fit. Empty for silent notifications.
    package var neutral: NeutralTexts {
        get { fields.neutral }
        set { fields.neutral = newValue }
    }
    /// The presentation of ``neutral``. A wake-up only has the parts for platforms that show wake-ups to people.
    package var neutralPresentation: Presentation {
        get { fields.neutralPresentation }
        set { fields.neutralPresentation = newValue }
    }
    /// Whether ``neutralPresentation`` has content. It avoids a copy, because it is read for each stored notification.
    package var hasNeutralPresentation: Bool { !storage.fields.neutralPresentation.isEmpty }
    /// A JSON object: the envelope around the encrypted notification; empty if nothing is encrypted yet.
    package var sealed: String {
        get { fields.sealed }
        set { fields.sealed = newValue }
    }

    /// The size of all texts in bytes, without buttons and native blocks. It avoids copies, because it is computed for
    /// each push.
    package var textBytes: Int {
        storage.fields.signal.rawValue.utf8.count + storage.fields.title.utf8.count
            + storage.fields.subtitle.utf8.count + storage.fields.body.utf8.count + storage.fields.category.utf8.count
            + storage.fields.thread.utf8.count + storage.fields.collapseKey.utf8.count + storage.fields.url.utf8.count
            + storage.fields.data.utf8.count + storage.fields.sealed.utf8.count
    }

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
        storage = Storage(
            Fields(
                mode: mode,
                urgency: urgency,
                count: count,
                signal: signal,
                title: title,
                subtitle: subtitle,
                body: body,
                category: category,
                thread: thread,
                collapseKey: collapseKey,
                url: url,
                actions: actions,
                data: data,
                native: native,
                expiresAt: expiresAt,
                neutral: neutral,
                neutralPresentation: neutralPresentation,
                sealed: sealed
            )
        )
    }

    /// A wake-up with a signal and a count.
    package static func wake(_ signal: Signal, urgency: Urgency, count: UInt32 = 1) -> Notification {
        Notification(mode: .wake, signal: signal, urgency: urgency, count: count)
    }

    /// A visible text without sender or content, or a wake-up if there is no text to show.
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

    /// Removes the content of its stricter forms; a nudge becomes a wake-up.
    package mutating func silence() {
        if mode == .nudge, let stricter { self = stricter }
        neutral = NeutralTexts()
        neutralPresentation = Presentation()
    }

    /// The same notification in the next stricter mode: a nudge for a sealed or readable one, a wake-up for a nudge or
    /// without texts, and nil for a wake-up.
    package var stricter: Notification? {
        var notification: Notification
        switch mode {
        case .wake: return nil
        case .nudge: notification = .wake(signal, urgency: urgency, count: count)
        case .sealed, .alert:
            notification = .nudge(signal, urgency: urgency, count: count, neutral, neutralPresentation)
        }
        notification.expiresAt = expiresAt
        notification.origin = origin
        return notification
    }

    /// Returns the same notification in a mode that shows no more than `mode`.
    package func limited(to mode: Mode) -> Notification {
        var notification = self
        while notification.mode > mode, let stricter = notification.stricter { notification = stricter }
        return notification
    }

    /// Returns the notification to send after `outcome`: the stricter form if this one is too large, has an unsupported
    /// mode, or has no content to show. Nil after other outcomes, and if this is a wake-up.
    package func downgraded(after outcome: Outcome) -> Notification? {
        guard outcome.kind == .rejected else { return nil }
        switch outcome.reason {
        case "payload-too-large", "unsupported", "payload-empty": return stricter
        default: return nil
        }
    }
}

extension Notification: CustomReflectable {
    /// Shows its fields, and hides their storage.
    package var customMirror: Mirror {
        Mirror(self, children: Mirror(reflecting: fields).children, displayStyle: .struct)
    }
}

/// An event in the form of deletions: by its id, its address, or its author and time.
package struct EventOrigin: Hashable, Sendable {
    /// The event's id: 32 bytes in memory order.
    package var event: SIMD4<UInt64>
    /// The author's public key in the same form.
    package var author: SIMD4<UInt64>
    /// In seconds since 1970.
    package var createdAt: Int64
    /// A hash of the event's kind and identifier; nil if events of this kind do not replace each other.
    package var address: Int64?

    package init(event: SIMD4<UInt64>, author: SIMD4<UInt64>, createdAt: Int64, address: Int64? = nil) {
        self.event = event
        self.author = author
        self.createdAt = createdAt
        self.address = address
    }
}

/// A button of a notification (contrib/docs/rules.md, "Buttons").
package struct NotificationAction: Sendable, Hashable {
    /// The id that the app gets when the button is tapped, in reverse domain notation.
    package var id: String
    /// The text on the button, in the reader's language.
    package var label: String
    /// The URL to open. Default: the notification's `url`.
    package var url: String
    /// The name of an SF Symbol; empty if there is none.
    package var icon: String

    package init(id: String, label: String, url: String = "", icon: String = "") {
        self.id = id
        self.label = label
        self.url = url
        self.icon = icon
    }
}

/// The presentation of a notification, apart from its texts. Stricter modes keep it, because none of it comes from an
/// event.
package struct Presentation: Sendable, Hashable {
    package var subtitle: String
    package var category: String
    package var thread: String
    package var collapseKey: String
    package var url: String
    package var actions: [NotificationAction]
    /// A JSON object of custom keys for the app, as text; empty if there are none.
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

    /// Whether all fields are empty.
    package var isEmpty: Bool {
        subtitle.isEmpty && category.isEmpty && thread.isEmpty && collapseKey.isEmpty && url.isEmpty && actions.isEmpty
            && data.isEmpty && native.isEmpty
    }
}

/// The texts of a notification without sender or content (``Mode/nudge``), or the visible texts of a sealed one.
package struct NeutralTexts: Sendable, Hashable {
    package var title: String
    package var body: String

    package init(title: String = "", body: String = "") {
        self.title = title
        self.body = body
    }

    package var isEmpty: Bool { title.isEmpty && body.isEmpty }
}
