import Foundation

/// The buttons of a message, in ntfy's short form or in JSON.
enum NtfyActions {
    private static let limit = 3
    private static let kinds: Set = ["view", "http", "broadcast"]

    /// Returns the actions in the form for subscribers.
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

/// ntfy's short form of actions: `view, Open, https://example.com, clear=true; http, Close, https://…, method=PUT`.
///
/// `;` separates actions, `,` their parts. A part with one of them is quoted.
enum NtfyShortActions {
    static func parse(_ text: String) throws(NtfyError) -> [[String: JSONValue]] {
        var actions: [[String: JSONValue]] = []
        for action in try split(text) where !action.isEmpty {
            actions.append(try members(of: action))
        }
        return actions
    }

    private static func members(of parts: [String]) throws(NtfyError) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        var nested: [String: [String: JSONValue]] = [:]
        for (index, part) in parts.enumerated() {
            guard let match = part.wholeMatch(of: /([-.\w]+)\s*=\s*(.*)/.dotMatchesNewlines()) else {
                let names = ["action", "label", "url"]
                guard index < names.count, index < 2 || members["action"]?.string != "broadcast" else {
                    throw .actionsInvalid("term '\(part)' unknown")
                }
                members[names[index]] = .string(part)
                continue
            }
            let name = match.1.lowercased()
            let value = unquoted(String(match.2))
            if let group = ["headers", "extras"].first(where: { name.hasPrefix($0 + ".") }) {
                nested[group, default: [:]][String(match.1.dropFirst(group.count + 1))] = .string(value)
            } else if name == "clear" {
                members[name] = .bool(value == "1" || value == "true" || value == "yes")
            } else if ["action", "label", "url", "method", "body", "intent"].contains(name) {
                members[name] = .string(value)
            } else {
                throw .actionsInvalid("key '\(name)' unknown")
            }
        }
        return members.merging(nested.mapValues(JSONValue.object)) { first, _ in first }
    }

    /// Splits the text into actions and their parts.
    private static func split(_ text: String) throws(NtfyError) -> [[String]] {
        var actions: [[String]] = []
        var parts: [String] = []
        var part = ""
        var quote: Character?
        var isEscaped = false
        for character in text {
            if isEscaped {
                part.append(character)
                isEscaped = false
            } else if let open = quote {
                if character == "\\" {
                    isEscaped = true
                } else {
                    part.append(character)
                    quote = character == open ? nil : open
                }
            } else if "\"'".contains(character), part.isBlank || part.last == "=" {
                quote = character
                part.append(character)
            } else if character == "," || character == ";" {
                parts.append(unquoted(part.trimmed))
                part = ""
                if character == ";" {
                    actions.append(parts)
                    parts = []
                }
            } else {
                part.append(character)
            }
        }
        guard quote == nil else { throw .actionsInvalid("unexpected end of input, quote started but not ended") }
        if !part.isBlank || !parts.isEmpty {
            parts.append(unquoted(part.trimmed))
        }
        return actions + (parts.isEmpty ? [] : [parts])
    }

    private static func unquoted(_ text: String) -> String {
        guard text.count >= 2, let first = text.first, "\"'".contains(first), text.last == first else { return text }
        return String(text.dropFirst().dropLast())
    }
}

extension String {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespaces) }

    fileprivate var isBlank: Bool { trimmed.isEmpty }
}
