import Foundation

/// ntfy's short form of actions: `view, Open, https://example.com, clear=true; http, Close, https://…, method=PUT`.
///
/// `;` separates actions, `,` their parts; a part with either in it is put in quotes.
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

    /// Actions, each in its parts.
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
