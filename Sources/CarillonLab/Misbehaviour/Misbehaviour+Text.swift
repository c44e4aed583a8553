import Foundation

extension Misbehaviour {
    /// From the command line's form: a kind and `key=value` pairs with commas between, `answer,status=429,retry_after=2,times=3`;
    /// or from the JSON form, an object.
    ///
    /// The keys are those of the JSON form, and `header.NAME` for one of its headers. Throws `LabError` with what was expected.
    public init(parsing text: String) throws {
        let json = text.hasPrefix("{") ? Data(text.utf8) : try JSONEncoder().encode(Self.members(text))
        do {
            self = try JSONDecoder().decode(Misbehaviour.self, from: json)
        } catch let error as DecodingError {
            throw LabError.invalid("Misbehaviour \"\(text)\": \(LabError.explain(error))")
        }
    }

    private static func members(_ text: String) throws(LabError) -> JSONValue {
        var members: [String: JSONValue] = [:]
        var headers: [String: JSONValue] = [:]
        for (index, part) in text.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
            let pair = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            if index == 0, pair.count == 1 {
                members["kind"] = .string(pair[0])
            } else if pair.count == 2, pair[0].hasPrefix("header.") {
                headers[String(pair[0].dropFirst("header.".count))] = .string(pair[1])
            } else if pair.count == 2, knownKeys.contains(pair[0]) {
                members[pair[0]] = value(pair[1], of: pair[0])
            } else {
                throw LabError.invalid(
                    "\"\(part)\" in a misbehaviour: expected key=value with one of "
                        + knownKeys.filter { $0 != CodingKeys.headers.rawValue }.joined(separator: ", ")
                        + ", header.NAME"
                )
            }
        }
        if !headers.isEmpty {
            members[CodingKeys.headers.rawValue] = .object(headers)
        }
        return .object(members)
    }

    private static func value(_ text: String, of key: String) -> JSONValue {
        switch CodingKeys(rawValue: key) {
        case .target, .reason, .service, .message, .field, .body: .string(text)
        case .share: Double(text).map(JSONValue.number) ?? .string(text)
        default: Int64(text).map(JSONValue.integer) ?? Bool(text).map(JSONValue.bool) ?? .string(text)
        }
    }
}
