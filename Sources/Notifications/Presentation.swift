/// How a notification is shown and what it opens, apart from its first lines: what a stricter mode keeps of it.
///
/// Nothing in it comes from an event: it holds what the rules file says in so many words.
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
