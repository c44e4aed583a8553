import YAMLReading

/// The categories of buttons that an app has registered: the predefined ones of seed 002 and what the file lists.
struct ButtonCategories: Sendable {
    private static let reserved = "com.klaviyo.category."

    static let predefined = ["acceptDecline", "yesNo", "confirmCancel", "viewDismiss"].map { reserved + $0 }

    private let listed: [String]

    init(listed: Set<String> = []) {
        self.listed = listed.sorted()
    }

    /// Reads the file's `categories`.
    init(reading value: YAMLValue) {
        var listed: Set<String> = []
        for value in value.list() ?? [] {
            guard let category = value.string() else { continue }
            if category.isEmpty {
                value.mistake("expected a text that is not empty")
            } else if category.hasPrefix(Self.reserved), !Self.predefined.contains(category) {
                value.mistake(
                    "\(Self.reserved)… are the predefined ones: " + Self.predefined.joined(separator: ", ")
                )
            } else if !listed.insert(category).inserted {
                value.mistake("'\(category.prefix(64))' is listed twice")
            }
        }
        self.init(listed: listed)
    }

    /// These and what another file lists.
    func adding(_ others: ButtonCategories) -> ButtonCategories {
        ButtonCategories(listed: Set(listed + others.listed))
    }

    /// Checks an `apns` block's category, and that there is a known one beside `actions`.
    func check(_ category: YAMLValue?, actions: YAMLValue?) {
        guard let category else {
            actions?.mistake("'category' is missing: which buttons these are")
            return
        }
        if actions != nil, category.isTemplate {
            category.mistake("expected a text without variables beside 'actions'")
        }
        guard let name = category.literal else { return }
        if name.hasPrefix(Self.reserved) {
            if !Self.predefined.contains(name) { _ = category.choice(Self.predefined) }
        } else if actions != nil, !listed.contains(name) {
            category.mistake(
                "nobody registered '\(name.prefix(64))': expected \(Self.predefined.joined(separator: ", ")), or "
                    + (listed.isEmpty ? "" : listed.joined(separator: ", ") + ", or ")
                    + "one listed at the file's top under 'categories'"
            )
        }
    }
}
