import Storage

/// Checked answers by the keys of their questions.
package struct SetupAnswers: Sendable, Hashable {
    private var values: [String: String] = [:]

    package init() {}

    package subscript(key: String) -> String? {
        get { values[key] }
        set { values[key] = newValue }
    }

    /// The items of a list answer; empty without an answer.
    package func list(_ key: String) -> [String] { SetupText.members(values[key] ?? "") }
}

/// The state of the interview: chooses the next question, takes answers, and goes back. It does not use a terminal.
package struct SetupInterview: Sendable {
    package private(set) var answers: SetupAnswers
    private let questions: SetupQuestions
    /// Answers from before the user went back. They are the defaults when the questions come again.
    private var previous = SetupAnswers()
    /// Answers from the command line. Their questions are skipped.
    private let given: SetupAnswers

    package init(_ questions: SetupQuestions, given: SetupAnswers = SetupAnswers()) {
        self.questions = questions
        self.given = given
        answers = given
    }

    /// The next question; `nil` when all are answered.
    package var question: SetupQuestion? {
        guard var question = asked.first(where: { answers[$0.key] == nil }) else { return nil }
        if let text = previous[question.key] { question.suggestion = text }
        return question
    }

    /// The answered questions with their answers.
    package var summary: [(question: SetupQuestion, answer: String)] {
        asked.compactMap { question in answers[question.key].map { (question, $0) } }
    }

    /// Takes the answer to the current question. If the answer is invalid, throws, and the question stays.
    package mutating func answer(_ text: String) throws(SetupError) {
        guard let question else { return }
        answers[question.key] = try question.read(text)
    }

    /// Goes back to the previous question. Returns false if there is none.
    package mutating func back() -> Bool {
        guard let last = asked.prefix(while: { answers[$0.key] != nil }).last else { return false }
        reopen(last.key)
        return true
    }

    /// Reopens a question to correct its answer.
    package mutating func reopen(_ key: String) {
        previous[key] = answers[key]
        answers[key] = nil
    }

    /// All answers, including those of questions that are not asked.
    package var complete: SetupAnswers {
        var complete = SetupAnswers()
        // Drops answers to questions that another answer has removed.
        for question in questions.list(for: answers) {
            complete[question.key] = answers[question.key] ?? question.suggestion
        }
        return complete
    }

    private var asked: [SetupQuestion] {
        questions.list(for: answers).filter { $0.isAsked && given[$0.key] == nil }
    }
}

/// A reader of answers in a YAML file. Keys are those of the questions; `ios.topic` is written as `topic` under `ios`.
package enum SetupAnswersFile {
    /// Reads all answers. Missing answers get their defaults. `given` are from the command line and override the file.
    ///
    /// Throws all errors in the file with their lines.
    package static func read(
        _ text: String,
        name: String,
        questions: SetupQuestions,
        given: SetupAnswers = SetupAnswers()
    ) throws(Diagnostics) -> SetupAnswers {
        let file = YAMLFile(name: name)
        let top = file.parse(text)
        var written: [String: (text: String, value: YAMLValue)] = [:]
        if let top {
            let keys = questions.allKeys
            let groups = Set(keys.compactMap(Self.group))
            let topKeys = keys.filter { group($0) == nil } + groups.sorted()
            for (key, value) in top.mapping(keys: topKeys)?.members ?? [] {
                if groups.contains(key) {
                    let own = keys.filter { group($0) == key }.map { String($0.dropFirst(key.count + 1)) }
                    for (inner, value) in value.mapping(keys: own)?.members ?? [] {
                        if let text = words(value) { written["\(key).\(inner)"] = (text, value) }
                    }
                } else if let text = words(value) {
                    written[key] = (text, value)
                }
            }
        }
        var answers = given
        var isKnown: Set<String> = []
        // Each answer can change the list of questions, so the list is computed again after each.
        while let question = questions.list(for: answers).first(where: { !isKnown.contains($0.key) }) {
            isKnown.insert(question.key)
            guard given[question.key] == nil else { continue }
            guard let (text, value) = written[question.key] else {
                // Scripts must request a test push explicitly.
                answers[question.key] = question.key == "test_push" ? "no" : question.suggestion
                if question.suggestion == nil {
                    file.note("'\(question.key)' is missing: \(question.prompt)", at: nil)
                }
                continue
            }
            do throws(SetupError) {
                answers[question.key] = try question.read(text)
            } catch {
                value.mistake("\(error)")
                answers[question.key] = question.suggestion
            }
        }
        for (key, entry) in written where !isKnown.contains(key) {
            let group = group(key)
            let chosen = answers.list("services")
            let reason =
                group.flatMap { chosen.contains($0) ? nil : "services does not name \($0)" }
                ?? "the other answers leave no use for it"
            entry.value.mistake(reason)
        }
        try file.throwMistakes()
        return answers
    }

    private static func group(_ key: String) -> String? {
        key.firstIndex(of: ".").map { String(key[..<$0]) }
    }

    /// Returns a string, or a list of strings joined with commas.
    private static func words(_ value: YAMLValue) -> String? {
        guard value.isList else { return value.string() }
        return value.list()?.compactMap { $0.string() }.joined(separator: ", ")
    }
}

/// A question of `carillon setup`. It parses both an operator's input and a value in an answers file.
package struct SetupQuestion: Sendable {
    /// The question's key in answers files, such as `ios.topic`.
    package let key: String
    package let prompt: String
    /// One or two sentences for users who do not know the answer.
    package let help: String
    /// The default for an empty line; `nil` if an answer is required.
    package var suggestion: String?
    /// Whether setup asks the question. The other questions have a default for nearly all users, which answers files
    /// can change.
    package var isAsked = true
    let check: @Sendable (String) throws(SetupError) -> String

    /// Returns the answer in canonical form. Throws the error and the expected form.
    package func read(_ text: String) throws(SetupError) -> String {
        let text = SetupText.trimmed(text)
        guard text.utf8.count <= 4_000 else { throw SetupError("expected at most 4000 bytes") }
        guard !text.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) else {
            throw SetupError("expected text without control characters")
        }
        guard text.isEmpty else { return try check(text) }
        guard let suggestion else { throw SetupError("an answer is required") }
        return suggestion
    }
}

/// The error of an invalid answer and the expected form.
package struct SetupError: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// The facts about the machine that setup uses. They are injected, so that tests need no files.
package struct SetupMachine: Sendable {
    /// Whether root runs setup, and therefore installs a service.
    package var isRoot: Bool
    package var home: String
    package var currentFolder: String
    /// The plugin directory next to the program; `nil` if there is none.
    package var pluginFolder: String?
    /// Returns the first 64 KiB of a file; `nil` if it cannot be read.
    package var read: @Sendable (String) -> String?

    package init(
        isRoot: Bool,
        home: String,
        currentFolder: String,
        pluginFolder: String?,
        read: @escaping @Sendable (String) -> String?
    ) {
        self.isRoot = isRoot
        self.home = home
        self.currentFolder = currentFolder
        self.pluginFolder = pluginFolder
        self.read = read
    }

    /// Returns the absolute path of the user's input.
    package func path(_ text: String) -> String {
        if text == "~" { return home }
        if text.hasPrefix("~/") { return home + text.dropFirst(1) }
        if text.hasPrefix("/") { return text }
        return currentFolder + "/" + (text.hasPrefix("./") ? String(text.dropFirst(2)) : text)
    }
}

/// Parses and quotes the text of answers.
enum SetupText {
    static func trimmed(_ text: String) -> String {
        var text = text[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    /// Returns the items of a list that are separated by commas, semicolons or blanks.
    static func members(_ text: String) -> [String] {
        text.split { $0 == "," || $0 == " " || $0 == ";" }.map(String.init)
    }

    /// Returns `text` as a double-quoted YAML scalar, with any characters escaped as needed.
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.value < 32 || scalar.value == 127 || (0x80..<0xA0).contains(scalar.value):
                let hex = String(scalar.value, radix: 16)
                result += "\\x" + (hex.count < 2 ? "0" : "") + hex
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
