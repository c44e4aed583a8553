import JSON
import Nostr

/// Takes typed fields out of one object of a registration; every refusal names the field by its path.
struct FieldReader {
    let object: JSONObject
    /// Names the object in refusals; empty for the outermost one.
    private let path: String

    init(_ object: JSONObject, path: String = "") {
        self.object = object
        self.path = path
    }

    func path(of name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    func refusal(_ name: String, expected: String) -> RegistrationRefusal {
        .field(path(of: name), expected: expected)
    }

    /// A text of 1 to `limit` bytes without control characters.
    func text(_ name: String, limit: Int) throws(RegistrationRefusal) -> String? {
        guard let value = object[name] else { return nil }
        let expectation = "a text of 1 to \(limit) bytes without control characters"
        guard case .string(let text) = value, (1...limit).contains(text.utf8.count), text.isFreeOfControls else {
            throw refusal(name, expected: expectation)
        }
        return text
    }

    /// A text of 1 to `limit` bytes, all of them of `alphabet`.
    func word(_ name: String, limit: Int, of alphabet: Alphabet) throws(RegistrationRefusal) -> String? {
        guard let value = object[name] else { return nil }
        guard case .string(let text) = value, (1...limit).contains(text.utf8.count), alphabet.spells(text) else {
            throw refusal(name, expected: "1 to \(limit) of \(alphabet.description)")
        }
        return text
    }

    func bool(_ name: String) throws(RegistrationRefusal) -> Bool? {
        guard let value = object[name] else { return nil }
        guard case .bool(let bool) = value else { throw refusal(name, expected: "true or false") }
        return bool
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(RegistrationRefusal) -> Int? {
        guard let value = object[name] else { return nil }
        guard case .number(let digits) = value, let number = Int(digits), range.contains(number) else {
            throw refusal(name, expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func reader(_ name: String) throws(RegistrationRefusal) -> FieldReader? {
        guard let value = object[name] else { return nil }
        guard case .object(let object) = value else { throw refusal(name, expected: "an object") }
        return FieldReader(object, path: path(of: name))
    }

    func texts(_ name: String, count: Int, expected: String) throws(RegistrationRefusal) -> [String]? {
        guard let value = object[name] else { return nil }
        guard case .array(let values) = value, values.count <= count else { throw refusal(name, expected: expected) }
        var texts: [String] = []
        for value in values {
            guard case .string(let text) = value else { throw refusal(name, expected: expected) }
            texts.append(text)
        }
        return texts
    }
}
