import YAMLReading

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
