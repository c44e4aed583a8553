import YAMLReading

/// The categories of buttons that an app has registered: the predefined ones of seed 002 and what the file lists.
struct ButtonCategories: Sendable {
    private static let reserved = "com.klaviyo.category."

    /// The buttons of the predefined ones, by their identifiers, which Klaviyo's library gives them.
    private static let buttons: [(category: String, actions: [String])] = [
        ("acceptDecline", ["accept", "decline"]), ("yesNo", ["yes", "no"]), ("confirmCancel", ["confirm", "cancel"]),
        ("viewDismiss", ["view", "dismiss"]),
    ].map { (reserved + $0, $1.map { "com.klaviyo.action." + $0 }) }

    static let predefined = buttons.map(\.category)

    private let listed: [String]

    /// All that a push may name.
    var known: [String] { Self.predefined + listed }

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

    /// Checks that an `apns` block's category is known, and that `actions` are of its buttons.
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
            guard let category = category.choice(Self.predefined) else { return }
            actions.map { Self.check($0, of: category) }
        } else if !name.isEmpty, !listed.contains(name) {
            category.mistake(
                "nobody registered '\(name.prefix(64))': expected \(Self.predefined.joined(separator: ", ")), or "
                    + (listed.isEmpty ? "" : listed.joined(separator: ", ") + ", or ")
                    + "one listed at the file's top under 'categories'"
            )
        }
    }

    /// A predefined `category` has its own buttons and no others.
    private static func check(_ actions: YAMLValue, of category: String) {
        guard let buttons = buttons.first(where: { $0.category == category })?.actions, actions.isMapping else {
            return
        }
        for (name, action) in actions.mapping()?.members ?? [] where !buttons.contains(name) {
            action.mistake(
                "'\(category)' has no button '\(name.prefix(64))', only \(buttons.joined(separator: " and "))"
                    + NearestName.hint(name, among: buttons)
            )
        }
    }
}
