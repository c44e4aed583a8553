/// What a sentence says, for programs and for pages that say it in another language than English.
package struct Statement: Codable, Hashable, Sendable {
    /// One word of a set to which words are added, and from which none is taken.
    package var code: String
    /// What stands in the sentence, by name. Names that end in `at`, `until` or `since` are of times: RFC 3339, in UTC.
    package var values: [String: String]

    package init(_ code: String, _ values: [String: String] = [:]) {
        self.code = code
        self.values = values
    }

    /// As JSON, for answers that are written by hand.
    package var json: String {
        let members = values.sorted { $0.key < $1.key }.map {
            "\(JSONText.quoted($0.key)):\(JSONText.quoted($0.value))"
        }
        return "{\"code\":\(JSONText.quoted(code)),\"values\":{\(members.joined(separator: ","))}}"
    }
}

/// A sentence in English, and what it says.
package struct Sentence: Hashable, Sendable, CustomStringConvertible {
    package let words: String
    package let says: Statement

    package var description: String { words }

    package init(_ code: String, _ values: [String: String] = [:], _ words: String) {
        self.words = words
        says = Statement(code, values)
    }
}
