/// The buttons of a message, in ntfy's short form or in JSON.
enum NtfyActions {
    private static let limit = 3
    private static let kinds: Set = ["view", "http", "broadcast"]

    /// Each as ntfy shows it to its subscribers.
    static func parse(_ text: String) throws(NtfyError) -> [JSONValue] {
        var actions: [[String: JSONValue]] = []
        if text.hasPrefix("[") {
            guard let list = JSONValue(parsing: Array(text.utf8))?.elements else {
                throw .actionsInvalid("JSON error")
            }
            for element in list {
                guard let members = element.object else { throw .actionsInvalid("JSON error") }
                actions.append(members)
            }
        } else {
            actions = try NtfyShortActions.parse(text)
        }
        guard actions.count <= limit else { throw .actionsInvalid("only \(limit) actions allowed") }
        var checked: [JSONValue] = []
        for action in actions { checked.append(.object(try check(action))) }
        return checked
    }

    private static func check(_ action: [String: JSONValue]) throws(NtfyError) -> [String: JSONValue] {
        guard let kind = action["action"]?.string, kinds.contains(kind) else {
            throw .actionsInvalid(
                "parameter 'action' cannot be '\(action["action"]?.string ?? "")', valid values are "
                    + "'view', 'broadcast', or 'http'"
            )
        }
        guard let label = action["label"]?.string, !label.isEmpty else {
            throw .actionsInvalid("parameter 'label' is required")
        }
        if kind != "broadcast" {
            guard let url = action["url"]?.string, !url.isEmpty else {
                throw .actionsInvalid("parameter 'url' is required for action '\(kind)'")
            }
        }
        let method = action["method"]?.string?.uppercased() ?? "POST"
        if kind == "http", ["GET", "HEAD"].contains(method), !(action["body"]?.string ?? "").isEmpty {
            throw .actionsInvalid("parameter 'body' cannot be set if method is \(method)")
        }
        return action
    }
}
