import Storage

/// Checked answers by their questions' keys.
package struct SetupAnswers: Sendable, Hashable {
    private var values: [String: String] = [:]

    package init() {}

    package subscript(key: String) -> String? {
        get { values[key] }
        set { values[key] = newValue }
    }

    /// The members of an answer that is a list; none where there is no answer.
    package func list(_ key: String) -> [String] { SetupText.members(values[key] ?? "") }
}

/// The course of the questions: knows what to ask next, takes answers, goes back. It knows no terminal.
package struct SetupInterview: Sendable {
    package private(set) var answers: SetupAnswers
    private let questions: SetupQuestions
    /// Answers that were given before somebody went back; suggested when the question comes again.
    private var previous = SetupAnswers()
    /// Answers that came with the command line; nobody is asked for them.
    private let given: SetupAnswers

    package init(_ questions: SetupQuestions, given: SetupAnswers = SetupAnswers()) {
        self.questions = questions
        self.given = given
        answers = given
    }

    /// What is to be asked next; nil when everything is answered.
    package var question: SetupQuestion? {
        guard var question = asked.first(where: { answers[$0.key] == nil }) else { return nil }
        if let text = previous[question.key] { question.suggestion = text }
        return question
    }

    /// The questions that are answered, with the answers.
    package var summary: [(question: SetupQuestion, answer: String)] {
        asked.compactMap { question in answers[question.key].map { (question, $0) } }
    }

    /// Takes an answer to the present question. Throws what is wrong with it; the question stays.
    package mutating func answer(_ text: String) throws(SetupRefusal) {
        guard let question else { return }
        answers[question.key] = try question.read(text)
    }

    /// Goes back to the question before. False where there is none.
    package mutating func back() -> Bool {
        guard let last = asked.prefix(while: { answers[$0.key] != nil }).last else { return false }
        reopen(last.key)
        return true
    }

    /// Asks a question again whose answer is to be corrected.
    package mutating func reopen(_ key: String) {
        previous[key] = answers[key]
        answers[key] = nil
    }

    /// The answers, with those of the questions that nobody is asked.
    package var complete: SetupAnswers {
        var complete = SetupAnswers()
        // An answer to a question that another answer has done away with means nothing.
        for question in questions.list(for: answers) {
            complete[question.key] = answers[question.key] ?? question.suggestion
        }
        return complete
    }

    private var asked: [SetupQuestion] {
        questions.list(for: answers).filter { $0.isAsked && given[$0.key] == nil }
    }
}

/// Reads the answers from a YAML file: keys are those of the questions, `ios.topic` stands as `topic` under `ios`.
package enum SetupAnswersFile {
    /// All answers, the suggestions where the file says nothing. `given` come from the command line and count before
    /// the file.
    ///
    /// Throws every mistake in the file with its line.
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
        // An answer decides which questions follow, so the list is made anew after each.
        while let question = questions.list(for: answers).first(where: { !isKnown.contains($0.key) }) {
            isKnown.insert(question.key)
            guard given[question.key] == nil else { continue }
            guard let (text, value) = written[question.key] else {
                // A test push is something that a script asks for.
                answers[question.key] = question.key == "test_push" ? "no" : question.suggestion
                if question.suggestion == nil {
                    file.note("'\(question.key)' is missing: \(question.prompt)", at: nil)
                }
                continue
            }
            do throws(SetupRefusal) {
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

    /// A text, or the texts of a list with commas between.
    private static func words(_ value: YAMLValue) -> String? {
        guard value.isList else { return value.string() }
        return value.list()?.compactMap { $0.string() }.joined(separator: ", ")
    }
}

/// One question of `carillon setup`. The same question reads an operator's line and a value of an answers file.
package struct SetupQuestion: Sendable {
    /// Its name in answers files, such as `ios.topic`.
    package let key: String
    package let prompt: String
    /// One or two sentences for someone who does not know the answer.
    package let help: String
    /// What an empty line means; nil where there has to be an answer.
    package var suggestion: String?
    /// Whether a person is asked. The others have an answer that suits nearly everybody, and answers files may change
    /// it.
    package var isAsked = true
    let check: @Sendable (String) throws(SetupRefusal) -> String

    /// The answer in its one spelling. Throws what is wrong with it and what was expected.
    package func read(_ text: String) throws(SetupRefusal) -> String {
        let text = SetupText.trimmed(text)
        guard text.utf8.count <= 4_000 else { throw SetupRefusal("expected at most 4000 bytes") }
        guard !text.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) else {
            throw SetupRefusal("expected text without control characters")
        }
        guard text.isEmpty else { return try check(text) }
        guard let suggestion else { throw SetupRefusal("this needs an answer") }
        return suggestion
    }
}

/// What is wrong with an answer and what was expected.
package struct SetupRefusal: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// What setup knows of the machine: handed in, so that tests need no files.
package struct SetupMachine: Sendable {
    /// Whether root runs it, who installs a service.
    package var isRoot: Bool
    package var home: String
    package var currentFolder: String
    /// Where the plugins lie that were found beside the program; nil: nowhere.
    package var pluginFolder: String?
    /// The first 64 KiB of a file; nil where it cannot be read.
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

    /// The absolute path that somebody means by `text`.
    package func path(_ text: String) -> String {
        if text == "~" { return home }
        if text.hasPrefix("~/") { return home + text.dropFirst(1) }
        if text.hasPrefix("/") { return text }
        return currentFolder + "/" + (text.hasPrefix("./") ? String(text.dropFirst(2)) : text)
    }
}

enum SetupText {
    static func trimmed(_ text: String) -> String {
        var text = text[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    /// The members of a list that somebody wrote with commas or blanks between.
    static func members(_ text: String) -> [String] {
        text.split { $0 == "," || $0 == " " || $0 == ";" }.map(String.init)
    }

    /// `text` as a double-quoted scalar of YAML, whatever is in it.
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
