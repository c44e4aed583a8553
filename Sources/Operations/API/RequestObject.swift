import Console
import Foundation
import JSON
import NIOCore

/// The JSON object in a request's body.
struct RequestObject {
    let object: JSONObject
    private let text: String

    /// Throws an ``APIProblem`` where the body is none, or has a member besides `members`.
    init(_ call: APICall, members: [String]) throws(APIProblem) {
        guard let text = String(validating: call.body.readableBytesView, as: UTF8.self) else {
            throw APIProblem(400, "the body: expected JSON in UTF-8")
        }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: text)
        } catch {
            throw APIProblem(400, "the body: \(error)")
        }
        guard case .object(let object) = value else { throw APIProblem(400, "the body: expected a JSON object") }
        if let unknown = object.members.first(where: { !members.contains($0.name) }) {
            throw APIProblem(400, "\(unknown.name.prefix(40)): expected \(members.joined(separator: ", "))")
        }
        self.object = object
        self.text = text
    }

    func has(_ name: String) -> Bool { object.members.contains { $0.name == name } }

    func text(_ name: String) throws(APIProblem) -> String? {
        try value(name, "a text") { if case .string(let text) = $0 { text } else { nil } }
    }

    /// A text that has to be there, of so many characters at most.
    func required(_ name: String, atMost limit: Int) throws(APIProblem) -> String {
        guard let text = try text(name), text.unicodeScalars.count <= limit else {
            throw APIProblem(400, "\(name): expected a text of at most \(limit) characters")
        }
        return text
    }

    func flag(_ name: String) throws(APIProblem) -> Bool? {
        try value(name, "true or false") { if case .bool(let flag) = $0 { flag } else { nil } }
    }

    func integer(_ name: String, in range: ClosedRange<Int64>) throws(APIProblem) -> Int64? {
        try value(name, "a whole number from \(range.lowerBound) to \(range.upperBound)") { value in
            guard case .number(let digits) = value, let number = Int64(digits), range.contains(number) else {
                return nil
            }
            return number
        }
    }

    func texts(_ name: String) throws(APIProblem) -> [String]? {
        try value(name, "a list of texts") { value in
            guard case .array(let elements) = value else { return nil }
            let texts = elements.compactMap { if case .string(let text) = $0 { text } else { nil as String? } }
            return texts.count == elements.count ? texts : nil
        }
    }

    func objects(_ name: String) throws(APIProblem) -> [JSONObject]? {
        try value(name, "a list of objects") { value in
            guard case .array(let elements) = value else { return nil }
            let objects = elements.compactMap { if case .object(let object) = $0 { object } else { nil } }
            return objects.count == elements.count ? objects : nil
        }
    }

    /// The text of an object. Throws an ``APIProblem`` where there is none.
    func json(_ name: String) throws(APIProblem) -> [UInt8] {
        guard case .object? = object[name],
            let whole = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
            let part = whole[name] as? [String: Any], let data = try? JSONSerialization.data(withJSONObject: part)
        else { throw APIProblem(400, "\(name): expected an object") }
        return Array(data)
    }

    /// Nil where there is none. That of null is none, but where it must be there.
    private func value<Value>(
        _ name: String,
        _ expected: String,
        _ read: (JSONValue) -> Value?
    ) throws(APIProblem) -> Value? {
        guard let member = object.members.first(where: { $0.name == name }) else { return nil }
        guard let value = read(member.value) else { throw APIProblem(400, "\(name): expected \(expected)") }
        return value
    }
}
