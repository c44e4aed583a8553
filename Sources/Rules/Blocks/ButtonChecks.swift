import Push
import Storage

/// The categories of buttons that rules may name: predefined ones of the loaded platforms, and those that the files
/// list.
struct ButtonCategories: Sendable {
    private let platforms: [ButtonNames]
    private let listed: [String]

    init(_ platforms: PlatformCatalog) {
        self.init(platforms.platforms.flatMap { platforms[$0]?.rules.keys.compactMap(\.buttons) ?? [] }, [])
    }

    private init(_ platforms: [ButtonNames], _ listed: Set<String>) {
        self.platforms = platforms
        self.listed = listed.sorted()
    }

    /// Reads a file's `categories`.
    init(reading value: YAMLValue, _ platforms: PlatformCatalog) {
        let known = ButtonCategories(platforms).platforms
        var listed: Set<String> = []
        for value in value.list() ?? [] {
            guard let category = value.string() else { continue }
            if category.isEmpty {
                value.mistake("expected a text that is not empty")
            } else if let names = known.first(where: { $0.reserves(category) }), !names.names.contains(category) {
                value.mistake("\(names.reserved)… are the predefined ones: " + names.names.joined(separator: ", "))
            } else if !listed.insert(category).inserted {
                value.mistake("'\(category.prefix(64))' is listed twice")
            }
        }
        self.init(known, listed)
    }

    /// Checks that a rule's own category, which is sent to every platform, uses no name that a platform reserves.
    func check(_ category: YAMLValue?) {
        guard let category, let name = category.literal else { return }
        guard let names = platforms.first(where: { $0.reserves(name) }) else { return }
        _ = category.choice(names.names)
    }

    /// Returns these categories and those of another file.
    func adding(_ others: ButtonCategories) -> ButtonCategories {
        ButtonCategories(platforms, Set(listed + others.listed))
    }

    /// All categories that a push may name under such a key.
    func known(_ names: ButtonNames) -> [String] { names.names + listed }

    /// Checks that a block's category is known, and that `actions` belong to its buttons.
    func check(_ category: YAMLValue?, actions: YAMLValue?, _ names: ButtonNames) {
        guard let category else {
            actions?.mistake("'category' is missing: the category of these buttons")
            return
        }
        if actions != nil, category.isTemplate {
            category.mistake("expected a text without variables, because there is 'actions'")
        }
        guard let name = category.literal else { return }
        if names.reserves(name) {
            guard let category = category.choice(names.names) else { return }
            actions.map { Self.check($0, of: category, names) }
        } else if !name.isEmpty, !listed.contains(name) {
            category.mistake(
                "the app has not registered '\(name.prefix(64))': expected "
                    + [names.names, listed].filter { !$0.isEmpty }.map { $0.joined(separator: ", ") + ", or " }.joined()
                    + "one listed in the file's 'categories'"
            )
        }
    }

    /// A predefined `category` has only its own buttons.
    private static func check(_ actions: YAMLValue, of category: String, _ names: ButtonNames) {
        guard let buttons = names.predefined.first(where: { $0.name == category })?.buttons, actions.isMapping else {
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

extension ButtonNames {
    fileprivate var names: [String] { predefined.map(\.name) }

    fileprivate func reserves(_ category: String) -> Bool { !reserved.isEmpty && category.hasPrefix(reserved) }
}

/// The requirements on a rule's buttons, beyond the keys of each.
enum ButtonChecks {
    /// iOS cuts longer labels.
    private static let longestLabel = 30

    /// Reports duplicate ids and malformed URLs. Values with variables are not checked here.
    static func check(_ rule: YAMLMapping) {
        rule["url"].map(checkURL)
        guard let actions = rule["actions"], actions.isList else { return }
        var ids: Set<String> = []
        for action in actions.list() ?? [] where action.isMapping {
            guard let action = action.mapping() else { continue }
            action["url"].map(checkURL)
            for key in ["id", "label"] where action[key]?.literal == "" {
                action[key]?.mistake("expected a text that is not empty")
            }
            if let label = action["label"] {
                (label.isMapping ? label.mapping()?.members.map(\.value) ?? [] : [label]).forEach(checkLength)
            }
            checkIcon(action["icon"])
            guard let id = action["id"], let text = id.literal, !text.isEmpty else { continue }
            if !ids.insert(text).inserted { id.mistake("'\(text.prefix(64))' is also the id of another button") }
        }
    }

    private static func checkLength(_ label: YAMLValue) {
        guard let text = label.literal ?? label.literalBeginning, text.count > longestLabel else { return }
        label.warn(
            "iOS cuts a button's label after about \(longestLabel) characters; this one has "
                + (label.literal == nil ? "more" : "\(text.count)")
        )
    }

    /// Apps show no icon for other names.
    private static func checkIcon(_ icon: YAMLValue?) {
        guard let icon, (icon.literal ?? icon.literalBeginning)?.hasPrefix("SFSymbol.") ?? false else { return }
        icon.mistake("expected only the symbol's name, such as cart.fill, without 'SFSymbol.'")
    }

    private static func checkURL(_ value: YAMLValue) {
        if let url = value.literal {
            if !url.isEmpty, !AbsoluteURL.isOne(url) { value.mistake(AbsoluteURL.expectation) }
        } else if let beginning = value.literalBeginning, AbsoluteURL.scheme(of: beginning) == nil {
            value.mistake(AbsoluteURL.expectation)
        }
    }
}
