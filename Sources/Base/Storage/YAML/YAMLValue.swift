import Core
import Foundation
import Yams

/// A value in a YAML file with its location, so that every error is reported with its line.
///
/// Each reader notes an error and returns nil. Reading continues, so one run reports all errors.
package struct YAMLValue {
    let node: Node
    /// The path to this value, such as `rules[2].match`; empty at the top.
    package let path: String
    package let file: YAMLFile

    /// Notes an error at this value.
    package func mistake(_ message: String) {
        let message = isBareTemplate ? MissingQuotes.ofTemplate : message
        file.note(message, ofValueAt: path, node.mark)
    }

    /// Warns that this value is valid but probably wrong.
    package func warn(_ message: String) { file.warn("\(path): \(message)", at: node.mark) }

    /// Whether this is `{{…}}` without quotes, which YAML reads as a mapping whose one key is a mapping.
    private var isBareTemplate: Bool {
        guard case .mapping(let mapping) = node, mapping.count == 1, case .mapping? = mapping.first?.key else {
            return false
        }
        return true
    }

    /// The line where this value starts, from 1.
    package var line: Int { node.mark?.line ?? 0 }

    /// The line and column where this value starts, from 1.
    package var place: (line: Int, column: Int) { (node.mark?.line ?? 0, node.mark?.column ?? 0) }

    /// Returns the text of a scalar of any type (`5` and `yes` are text if text is expected).
    package func string() -> String? {
        guard case .scalar(let scalar) = node, node.null == nil || scalar.style != .plain else {
            mistake("expected text")
            return nil
        }
        guard let text = file.expand(scalar.string) else {
            mistake("the environment variable \(scalar.string) is not set")
            return nil
        }
        return text
    }

    /// Returns an integer within `range`.
    package func integer(in range: ClosedRange<Int>) -> Int? {
        guard case .scalar(let scalar) = node, scalar.style == .plain, let number = Int(scalar.string),
            range.contains(number)
        else {
            mistake("expected a whole number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    /// Returns a whole number of `unit` within `range`: a number, or a duration such as `90s` or `1h30m`.
    package func integer(of unit: TimeUnit, in range: ClosedRange<Int>) -> Int? {
        guard case .scalar(let scalar) = node, scalar.string.first?.isNumber == true,
            scalar.string.last?.isLetter == true
        else { return integer(in: range) }
        if let duration = Duration(written: scalar.string), let count = unit.count(in: duration), range.contains(count)
        {
            return count
        }
        mistake(
            "'\(scalar.string.prefix(64))' is not a whole number of \(unit) from \(range.lowerBound) to "
                + "\(range.upperBound); expected one such as \(unit.examples)"
        )
        return nil
    }

    /// Returns `true` or `false`.
    package func bool() -> Bool? {
        guard case .scalar(let scalar) = node, scalar.style == .plain, let value = node.bool else {
            mistake("expected true or false")
            return nil
        }
        return value
    }

    /// `true` or `false` if it is written that way, without quotes; nil, without an error, for any other value.
    package var plainBool: Bool? {
        guard case .scalar(let scalar) = node, scalar.style == .plain else { return nil }
        return switch scalar.string {
        case "true", "True", "TRUE": true
        case "false", "False", "FALSE": false
        default: nil
        }
    }

    /// The digits of a number in a client's JSON; nil for any other value.
    package var clientDigits: String? {
        guard file.isOfClient, case .scalar(let scalar) = node, scalar.style == .plain,
            let first = scalar.string.utf8.first, first == 0x2D || (0x30...0x39).contains(first)
        else { return nil }
        return scalar.string
    }

    /// The text of a scalar as it is in the file; nil, without an error, for any other value and for environment
    /// variables, which may be secret.
    package var writtenText: String? {
        guard case .scalar(let scalar) = node, node.null == nil || scalar.style != .plain,
            file.expand(scalar.string) == scalar.string
        else { return nil }
        return scalar.string
    }

    /// Whether it has no quotes and is `true`, `no`, `On` or another word that YAML 1.1 reads as a boolean.
    package var isPlainBool: Bool {
        guard case .scalar(let scalar) = node else { return false }
        return scalar.style == .plain && node.bool != nil
    }

    /// Returns one of `choices`, by its text.
    package func choice(_ choices: [String]) -> String? {
        guard let text = string() else { return nil }
        guard choices.contains(text) else {
            // Quotes the file and not the value: an environment variable may be secret.
            let written = node.string ?? ""
            mistake(
                "'\(written.prefix(64))' is none of \(choices.joined(separator: ", "))"
                    + NearestName.hint(written, among: choices)
            )
            return nil
        }
        return text
    }

    /// Returns the elements of a list.
    package func list() -> [YAMLValue]? {
        guard case .sequence(let sequence) = node else {
            mistake("expected a list")
            return nil
        }
        return sequence.enumerated().map { YAMLValue(node: $1, path: file.path(path, element: $0), file: file) }
    }

    package var isMapping: Bool { node.mapping != nil }

    /// Returns the elements of a list, or this value.
    package func oneOrMore() -> [YAMLValue] {
        if case .sequence = node { return list() ?? [] }
        return [self]
    }

    static let mergeMistake = "merging keys (<<) is not supported: write the keys out, or alias the whole value"

    /// Returns a mapping with no other keys than `keys`. An unknown key is an error that names the nearest known one.
    /// Without `keys`, any key is valid. `missing` explains an unknown key whose value is a mapping; it is reported
    /// once for several equal keys in a file.
    package func mapping(keys: [String]? = nil, missing: String? = nil) -> YAMLMapping? {
        guard case .mapping(let mapping) = node, !isBareTemplate else {
            mistake("expected a mapping" + (keys.map { " with " + $0.joined(separator: ", ") } ?? ""))
            return nil
        }
        var members: [(String, YAMLValue)] = []
        for (key, value) in mapping {
            guard case .scalar(let scalar) = key else {
                file.note("\(path): a key must be text", at: key.mark)
                continue
            }
            let name = scalar.string
            if scalar.isMergeKey {
                file.note(Self.mergeMistake, ofValueAt: path, key.mark)
                continue
            }
            if let keys, !keys.contains(name) {
                let nearest = NearestName.hint(name, among: keys)
                let place = file.isOfClient ? file.path(path, member: name) : path
                let words = "unknown key '\(name.prefix(64))'"
                let hint = nearest.isEmpty ? "; known here: " + keys.joined(separator: ", ") : nearest
                if let missing, value.mapping != nil {
                    let cause = nearest.isEmpty ? "; \(missing)\(hint)" : "\(hint) If not, \(missing)"
                    file.noteOnce(words, because: cause, ofValueAt: place, key.mark)
                } else {
                    file.note(words + hint, ofValueAt: place, key.mark)
                }
                continue
            }
            members.append((name, YAMLValue(node: value, path: file.path(path, member: name), file: file)))
        }
        return YAMLMapping(value: self, members: members)
    }
}

extension Node.Scalar {
    /// Whether it is YAML 1.1's `<<`, which merges another mapping's keys.
    var isMergeKey: Bool { style == .plain && string == "<<" }
}

/// The members of a YAML mapping, in the order of the file.
package struct YAMLMapping {
    package let value: YAMLValue
    package let members: [(key: String, value: YAMLValue)]

    init(value: YAMLValue, members: [(String, YAMLValue)]) {
        self.value = value
        self.members = members
    }

    package subscript(key: String) -> YAMLValue? {
        members.first { $0.key == key }?.value
    }

    /// Returns the member of that name. If it is missing, notes an error that states its purpose.
    package func require(_ key: String, _ purpose: String) -> YAMLValue? {
        if let value = self[key] { return value }
        value.mistake("'\(key)' is missing: \(purpose)")
        return nil
    }
}

/// The unit of a key whose name ends with it, such as `cooldown_seconds`.
package enum TimeUnit: Sendable {
    case milliseconds, seconds, minutes, hours, days

    /// One of it.
    package var duration: Duration {
        switch self {
        case .milliseconds: .milliseconds(1)
        case .seconds: .seconds(1)
        case .minutes: .minutes(1)
        case .hours: .hours(1)
        case .days: .days(1)
        }
    }

    fileprivate var examples: String {
        switch self {
        case .milliseconds: "1500 or 2s"
        case .seconds: "30, 30s or 1m"
        case .minutes: "90, 90m or 1h30m"
        case .hours: "24, 24h or 1d"
        case .days: "7, 7d or 1w"
        }
    }

    /// Returns how many of it `duration` is; nil if it is not a whole number.
    fileprivate func count(in duration: Duration) -> Int? {
        let (count, rest) = duration.milliseconds.quotientAndRemainder(dividingBy: self.duration.milliseconds)
        return rest == 0 ? Int(count) : nil
    }
}

/// A scalar as YAML reads it: plain text may be a number, a boolean or null; quoted text is a string.
package enum YAMLScalar: Hashable, Sendable {
    case null
    case whole(Int)
    /// Always finite.
    case number(Double)
    case flag(Bool)
    case text(String)
}

extension YAMLValue {
    /// Returns this value if it is a scalar; nil for lists and mappings. An environment variable that is not set is
    /// noted as an error.
    package func scalar() -> YAMLScalar? {
        guard case .scalar(let scalar) = node else { return nil }
        if scalar.style == .plain {
            if node.null != nil { return .null }
            if let number = Int(scalar.string) { return .whole(number) }
            if let flag = node.bool { return .flag(flag) }
            if let number = Double(scalar.string), number.isFinite { return .number(number) }
        }
        return string().map(YAMLScalar.text)
    }

    /// Whether YAML's tag `!!int` or `!!float` marks this text as a number.
    package var isTaggedAsNumber: Bool {
        guard case .scalar(let scalar) = node, scalar.style != .plain || scalar.string.hasPrefix("{{") else {
            return false
        }
        return node.tag == Tag(.int) || node.tag == Tag(.float)
    }

    /// Whether YAML reads it as an integer, by its form or by the tag `!!int`.
    package var isTaggedAsWhole: Bool { node.tag == Tag(.int) }

    package var isList: Bool { node.sequence != nil }
}

extension YAMLValue {
    /// Returns this value as JSON with sorted keys: the form in which a plugin receives its configuration. Notes an
    /// error and returns nil if JSON cannot express it.
    package func json() -> String? {
        json(unset: { file.note($0) }, fromEnvironment: { _ in })
    }

    /// Does the same, but omits environment variables that are not set and reports each to `unset`; `fromEnvironment`
    /// receives the values of the others.
    package func json(unset: (Diagnostic) -> Void, fromEnvironment: (String) -> Void) -> String? {
        guard let object = jsonObject(node, path, unset, fromEnvironment) else { return nil }
        guard
            let data = try? JSONSerialization.data(
                withJSONObject: object,
                options: [.sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed]
            )
        else {
            mistake("cannot be written as JSON")
            return nil
        }
        return String(decoding: data, as: UTF8.self)
    }

    private func jsonObject(
        _ node: Node,
        _ path: String,
        _ unset: (Diagnostic) -> Void,
        _ fromEnvironment: (String) -> Void
    ) -> Any? {
        switch node {
        case .scalar(let scalar):
            if scalar.style == .plain {
                if node.null != nil { return NSNull() }
                if let number = Int(scalar.string) { return number }
                if let bool = node.bool { return bool }
                if let number = Double(scalar.string), number.isFinite { return number }
            }
            guard let text = file.expand(scalar.string) else {
                unset(file.mistake("\(path): the environment variable \(scalar.string) is not set", at: node.mark))
                return nil
            }
            if text != scalar.string { fromEnvironment(text) }
            return text
        case .sequence(let sequence):
            return sequence.enumerated().compactMap { jsonObject($1, "\(path)[\($0)]", unset, fromEnvironment) }
        case .mapping(let mapping):
            var object: [String: Any] = [:]
            for (key, value) in mapping {
                guard case .scalar(let name) = key else {
                    file.note("\(path): a key must be text", at: key.mark)
                    return nil
                }
                guard !name.isMergeKey else {
                    file.note("\(path): \(Self.mergeMistake)", at: key.mark)
                    continue
                }
                let place = path.isEmpty ? name.string : "\(path).\(name.string)"
                object[name.string] = jsonObject(value, place, unset, fromEnvironment)
            }
            return object
        case .alias:
            file.note("\(path): an alias without an anchor", at: node.mark)
            return nil
        }
    }
}
