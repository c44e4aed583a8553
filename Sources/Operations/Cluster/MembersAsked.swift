import Console

/// Which members of a cluster an answer is of.
package struct MembersAsked: Codable, Sendable, Equatable {
    package struct Silent: Codable, Sendable, Equatable {
        package var name: String
        /// Why its part is missing, in words.
        package var reason: String
        /// The same for programs; of a refusal what the member said. Nil: only the words say it.
        package var says: Statement?

        package init(_ name: String, _ silence: MemberSilence) {
            let sentence = silence.sentence(of: name)
            (self.name, reason, says) = (name, sentence.words, sentence.says)
        }

        /// A member that refuses.
        init(_ name: String, _ refusal: OperationFailure) {
            (self.name, reason, says) = (name, "says: \(refusal)", refusal.says)
        }
    }

    /// In the order of their names.
    package var answered: [String]
    /// Members whose part is missing.
    package var silent: [Silent]

    package init(answered: [String], silent: [Silent]) {
        (self.answered, self.silent) = (answered.sorted(), silent.sorted { $0.name < $1.name })
    }

    /// The same for two questions that make one answer.
    func and(_ other: MembersAsked?) -> MembersAsked {
        guard let other else { return self }
        let silent = silent + other.silent.filter { silent in !self.silent.contains { $0.name == silent.name } }
        let names = Set(silent.map(\.name))
        return MembersAsked(answered: answered.filter { !names.contains($0) }, silent: silent)
    }

    /// What is missing, a line each.
    var lines: [String] { silent.map { "\($0.name) \($0.reason): what it has is missing here" } }
}
