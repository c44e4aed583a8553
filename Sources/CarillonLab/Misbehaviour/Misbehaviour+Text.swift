import Foundation

extension Misbehaviour {
    /// From the command line's form: a kind and `key=value` pairs with commas between, `answer,status=429,retry_after=2,times=3`.
    ///
    /// The keys are those of the JSON form. Throws `LabError` with what was expected.
    public init(parsing text: String) throws {
        var members: [String: JSONValue] = [:]
        for (index, part) in text.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
            let pair = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            if index == 0, pair.count == 1 {
                members["kind"] = .string(pair[0])
            } else if pair.count == 2, Self.knownKeys.contains(pair[0]) {
                members[pair[0]] = Self.value(pair[1], of: pair[0])
            } else {
                throw LabError.invalid(
                    "\"\(part)\" in a misbehaviour: expected key=value with one of \(Self.knownKeys.joined(separator: ", "))"
                )
            }
        }
        do {
            self = try JSONDecoder().decode(Misbehaviour.self, from: JSONEncoder().encode(JSONValue.object(members)))
        } catch let error as DecodingError {
            throw LabError.invalid("Misbehaviour \"\(text)\": \(LabError.explain(error))")
        }
    }

    private static func value(_ text: String, of key: String) -> JSONValue {
        switch key {
        case "target", "reason", "service": .string(text)
        default: Int64(text).map(JSONValue.integer) ?? Bool(text).map(JSONValue.bool) ?? .string(text)
        }
    }
}
