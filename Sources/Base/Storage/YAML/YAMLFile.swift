import JSON
import Yams

/// A YAML file that is being read, and the errors found in it so far. Only one reader uses it at a time, so it is a
/// plain class.
package final class YAMLFile {
    package let name: String
    package private(set) var mistakes: [Diagnostic] = []
    /// Warnings: valid input that is probably wrong.
    package private(set) var warnings: [Diagnostic] = []
    /// Errors that are reported once, by message.
    private var repeated: [String: Repeated] = [:]
    /// Whether it is a client's JSON: strings are not expanded, and errors name the location as a JSON pointer (RFC
    /// 6901).
    package let isOfClient: Bool
    private let environment: (String) -> String?

    /// `name` is the path as it should appear in errors. `environment` returns the value of `${NAME}`.
    package init(name: String, environment: @escaping (String) -> String? = { _ in nil }) {
        self.name = name
        self.environment = environment
        isOfClient = false
    }

    private init(ofClient name: String) {
        self.name = name
        environment = { _ in nil }
        isOfClient = true
    }

    /// Wraps a client's JSON like a file, so that the same readers check it. In each of its ``mistakes``, `file` is the
    /// JSON pointer to the wrong value.
    package static func reading(_ json: JSONValue) -> YAMLValue {
        YAMLValue(node: Node(json), path: "", file: YAMLFile(ofClient: ""))
    }

    /// Returns the path of a member or an element of the value at `path`.
    func path(_ path: String, member name: String) -> String {
        guard isOfClient else { return path.isEmpty ? name : "\(path).\(name)" }
        return "\(path)/\(name.replacing("~", with: "~0").replacing("/", with: "~1"))"
    }

    func path(_ path: String, element number: Int) -> String {
        isOfClient ? "\(path)/\(number)" : "\(path)[\(number)]"
    }

    /// Notes an error in the value at `path`, whose location is `mark`.
    func note(_ message: String, ofValueAt path: String, _ mark: Mark?) {
        if isOfClient {
            note(Diagnostic(file: path, line: 0, column: 0, message: message))
        } else {
            note(path.isEmpty ? message : "\(path): \(message)", at: mark)
        }
    }

    /// An error that has the same cause at several locations.
    private struct Repeated {
        /// The index of the first one in the errors.
        let number: Int
        let words: String
        let mark: Mark
        var otherLines: [Int] = []
    }

    /// Notes an error with one `cause` for all its locations: the first one, with the lines of the others.
    func noteOnce(_ words: String, because cause: String, ofValueAt path: String, _ mark: Mark?) {
        guard !isOfClient, let mark else { return note(words + cause, ofValueAt: path, mark) }
        guard var known = repeated[words] else {
            let words = (key: words, whole: path.isEmpty ? words : "\(path): \(words)")
            repeated[words.key] = Repeated(number: mistakes.count, words: words.whole, mark: mark)
            return note(words.whole + cause, at: mark)
        }
        guard known.mark.line != mark.line, !known.otherLines.contains(mark.line) else { return }
        known.otherLines.append(mark.line)
        repeated[words] = known
        let lines = known.otherLines.prefix(10).map(String.init).joined(separator: ", ")
        let others = "line\(known.otherLines.count == 1 ? "" : "s") \(lines)\(known.otherLines.count > 10 ? ", …" : "")"
        mistakes[known.number] = mistake("\(known.words), also in \(others)\(cause)", at: known.mark)
    }

    /// Returns the document in `text`; or nil, with an error noted, if it is not valid YAML.
    package func parse(_ text: String) -> YAMLValue? {
        do {
            guard let node = try Yams.compose(yaml: text) else {
                note("the file is empty", at: nil)
                return nil
            }
            guard AliasBudget.covers(node) else {
                note(
                    "too large: expected at most \(AliasBudget.values) values, \(AliasBudget.depth) deep, with aliases expanded",
                    at: nil
                )
                return nil
            }
            return YAMLValue(node: node, path: "", file: self)
        } catch let error as YamlError {
            note(error, in: text)
        } catch {
            note("not readable as YAML", at: nil)
        }
        return nil
    }

    /// Throws all errors noted so far, if any, in the order of the file.
    package func throwMistakes() throws(Diagnostics) {
        guard mistakes.isEmpty else {
            throw Diagnostics(mistakes.sorted { ($0.line, $0.column) < ($1.line, $1.column) })
        }
    }

    package func note(_ message: String, at mark: Mark?) {
        note(mistake(message, at: mark))
    }

    /// Notes a warning once, because several readers may read one value.
    func warn(_ message: String, at mark: Mark?) {
        let warning = mistake(message, at: mark)
        if !warnings.contains(warning) { warnings.append(warning) }
    }

    /// Notes an error once, because several readers may read one value.
    func note(_ mistake: Diagnostic) {
        if !mistakes.contains(mistake) { mistakes.append(mistake) }
    }

    func mistake(_ message: String, at mark: Mark?) -> Diagnostic {
        Diagnostic(file: name, line: mark?.line ?? 0, column: mark?.column ?? 0, message: message)
    }

    /// Returns `text` with `${NAME}` replaced from the environment, if it is the whole value or starts a path, as in
    /// `${NAME}/file`; nil if the variable is not set. Two braces belong to a template.
    func expand(_ text: String) -> String? {
        guard !isOfClient, text.hasPrefix("${"), !text.hasPrefix("${{"), let end = text.firstIndex(of: "}") else {
            return text
        }
        let rest = text[text.index(after: end)...]
        guard rest.isEmpty || (rest.hasPrefix("/") && !text.contains("{{")) else { return text }
        return environment(String(text[..<end].dropFirst(2))).map { $0 + rest }
    }

    private func note(_ error: YamlError, in text: String) {
        switch error {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            // The context starts at the beginning of the unreadable part.
            let hint = MissingQuotes.hint(at: mark, from: context?.mark, in: text)
            note("not YAML: \(Self.inPlainWords(problem))\(hint)", at: mark)
        case .duplicatedKeysInMapping(let duplicates, let context):
            let keys = duplicates.map { "'\($0)'" }.joined(separator: ", ")
            note("\(keys) is given more than once, first here", at: context.mark)
        case .reader:
            note("not YAML: it contains a control character", at: nil)
        default:
            note("not readable as YAML", at: nil)
        }
    }

    private static func inPlainWords(_ problem: String) -> String {
        switch problem {
        case "found character that cannot start any token":
            problem + " (perhaps a tab: indent YAML with spaces; or a text that starts with @ or `: put it in quotes)"
        case let problem where problem.hasPrefix("Maximum nesting level reached"): "nested too deeply"
        default: problem
        }
    }
}

/// Limits on the size and depth of a document after its aliases are expanded. A few lines of aliases to aliases can
/// expand to billions of values, which would take hours to read.
enum AliasBudget {
    static let values = 1_000_000
    static let depth = 64

    /// Whether `node` has up to ``values`` values, none deeper than ``depth``.
    static func covers(_ node: Node) -> Bool {
        var left = values
        return spend(&left, on: node, depth: 0)
    }

    private static func spend(_ left: inout Int, on node: Node, depth: Int) -> Bool {
        left -= 1
        guard left >= 0, depth <= Self.depth else { return false }
        switch node {
        case .scalar, .alias:
            return true
        case .sequence(let sequence):
            return sequence.allSatisfy { spend(&left, on: $0, depth: depth + 1) }
        case .mapping(let mapping):
            return mapping.allSatisfy {
                spend(&left, on: $0.key, depth: depth + 1) && spend(&left, on: $0.value, depth: depth + 1)
            }
        }
    }
}

/// Detects strings without quotes that YAML reads as something else: `{{…}}` as a mapping, `: ` as a key and its value.
enum MissingQuotes {
    /// The message for `{{…}}` without quotes.
    static let ofTemplate = "a text with {{…}} in it needs quotes around it, as in \"{{author.name}}\""

    private static let ofColon = "a text with a colon and a blank in it needs quotes around it, as in \"New: a note\""

    /// Returns `; a text … needs quotes` if missing quotes explain why YAML failed at `mark`; else an empty string.
    /// `start` is the start of the unreadable part.
    static func hint(at mark: Mark, from start: Mark?, in text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        func line(_ mark: Mark?) -> Substring {
            guard let mark, lines.indices.contains(mark.line - 1) else { return "" }
            return lines[mark.line - 1]
        }
        if hasBareTemplate(line(mark)) || hasBareTemplate(line(start)) { return "; " + ofTemplate }
        return line(mark).dropFirst(mark.column - 1).first == ":" ? "; " + ofColon : ""
    }

    /// Whether the line has `{{` outside of quotes and comments.
    private static func hasBareTemplate(_ line: Substring) -> Bool {
        var quote: Character?
        var isAtStart = true
        var rest = line
        while let character = rest.first {
            if let open = quote {
                if character == open { quote = nil }
            } else if rest.hasPrefix("{{") {
                return true
            } else if isAtStart, character == "\"" || character == "'" {
                quote = character
            } else if character == "#", isAtStart {
                return false
            }
            // A value starts after one of these.
            isAtStart = ":,-[{".contains(character) || isAtStart && character.isWhitespace
            rest = rest.dropFirst()
        }
        return false
    }
}

extension Node {
    /// Converts a JSON value.
    fileprivate init(_ json: JSONValue) {
        switch json {
        case .null: self.init("null", Tag(.null), .plain)
        case .bool(let flag): self.init(flag ? "true" : "false", Tag(.bool), .plain)
        case .number(let digits): self.init(digits, .implicit, .plain)
        case .string(let text): self.init(text, Tag(.str), .doubleQuoted)
        case .array(let elements): self.init(elements.map(Node.init))
        case .object(let object):
            self.init(object.members.map { (Node($0.name, Tag(.str), .doubleQuoted), Node($0.value)) })
        }
    }
}

/// An error in a file that a person wrote: its location and the expected input.
package struct Diagnostic: Error, Hashable, Sendable, CustomStringConvertible {
    package let file: String
    /// From 1; 0 if the error is about the whole file.
    package let line: Int
    /// From 1; 0 if the error is about the whole line or file.
    package let column: Int
    package let message: String

    package init(file: String, line: Int = 0, column: Int = 0, message: String) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
    }

    /// `file:line:column: message`, the form that editors and terminals turn into a link.
    package var description: String {
        line > 0 ? "\(file):\(line):\(column): \(message)" : "\(file): \(message)"
    }
}

/// All errors in a file, so that a person can fix them together. Never empty when thrown.
package struct Diagnostics: Error, Sendable, CustomStringConvertible {
    package let all: [Diagnostic]

    package init(_ all: [Diagnostic]) {
        self.all = all
    }

    package var description: String {
        all.map(\.description).joined(separator: "\n")
    }
}

/// Suggests the name that a user probably meant.
package enum NearestName {
    /// Returns `; did you mean 'title'?` if one of `names` differs by up to two letters, or only in spelling
    /// (`MutableContent` for `mutable-content`); else an empty string.
    package static func hint(_ word: String, among names: [String]) -> String {
        let bare = bare(word)
        if let name = names.first(where: { Self.bare($0) == bare }) { return "; did you mean '\(name)'?" }
        let nearest = names.map { (name: $0, distance: distance(word, $0)) }.min { $0.distance < $1.distance }
        guard let nearest, nearest.distance <= max(1, min(2, word.count / 2)) else { return "" }
        return "; did you mean '\(nearest.name)'?"
    }

    private static func bare(_ word: String) -> String {
        word.lowercased().filter { $0 != "-" && $0 != "_" }
    }

    /// Returns the Levenshtein distance between two words.
    private static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let substituted = diagonal + (a == b ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, diagonal + 1, row[j] + 1)
            }
        }
        return row[right.count]
    }
}
