import JSON

/// The error that makes a platform's description invalid.
package struct PlatformDescriptionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A JSON pointer (RFC 6901) to the invalid value; empty for the document as a whole.
    package let pointer: String
    package let message: String

    package var description: String { pointer.isEmpty ? message : "\(pointer): \(message)" }
}

/// One value of a description. Every error contains the value's JSON pointer.
struct DescriptionReader {
    /// Members that this version does not know. Hosts ignore them, `plugin check` reports them.
    final class UnknownMembers {
        fileprivate(set) var pointers: [String] = []
    }

    let value: JSONValue
    private let pointer: String
    private let unknown: UnknownMembers

    init(_ value: JSONValue, pointer: String = "", unknown: UnknownMembers) {
        self.value = value
        self.pointer = pointer
        self.unknown = unknown
    }

    func error(_ message: String) -> PlatformDescriptionError {
        PlatformDescriptionError(pointer: pointer, message: message)
    }

    /// Records that this version does not know this value.
    func noteUnknown() {
        if !unknown.pointers.contains(pointer) { unknown.pointers.append(pointer) }
    }

    // MARK: Scalars

    func text() throws -> String {
        guard case .string(let text) = value else { throw error("expected a text") }
        return text
    }

    func flag() throws -> Bool {
        guard case .bool(let flag) = value else { throw error("expected true or false") }
        return flag
    }

    func integer(in range: ClosedRange<Int> = Int.min...Int.max) throws -> Int {
        guard case .number(let digits) = value, let number = Int(digits), range.contains(number) else {
            throw error(
                range == Int.min...Int.max
                    ? "expected a whole number"
                    : "expected a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }

    func number() throws -> Double {
        guard case .number(let digits) = value, let number = Double(digits), number.isFinite else {
            throw error("expected a number")
        }
        return number
    }

    /// One of the values of a string enumeration.
    func choice<Choice: RawRepresentable & CaseIterable>(_: Choice.Type) throws -> Choice
    where Choice.RawValue == String {
        if case .string(let text) = value, let choice = Choice(rawValue: text) { return choice }
        throw error("expected one of " + Choice.allCases.map(\.rawValue).joined(separator: ", "))
    }

    // MARK: Lists and objects

    func list() throws -> [DescriptionReader] {
        guard case .array(let elements) = value else { throw error("expected a list") }
        return elements.enumerated().map { child($1, String($0)) }
    }

    func texts() throws -> [String] { try list().map { try $0.text() } }

    /// Returns the members of an object with any names.
    func members() throws -> [(name: String, value: DescriptionReader)] {
        guard case .object(let object) = value else { throw error("expected an object") }
        return object.members.map { ($0.name, child($0.value, $0.name)) }
    }

    /// Returns the members of an object; names not in `names` are recorded as unknown.
    func members(_ names: String...) throws -> [String: DescriptionReader] {
        try Dictionary(
            uniqueKeysWithValues: members().filter { name, value in
                if !names.contains(name) { value.noteUnknown() }
                return names.contains(name)
            }
        )
    }

    private func child(_ value: JSONValue, _ name: String) -> DescriptionReader {
        let step = name.replacing("~", with: "~0").replacing("/", with: "~1")
        return DescriptionReader(value, pointer: "\(pointer)/\(step)", unknown: unknown)
    }
}

extension [String: DescriptionReader] {
    /// Returns the member of that name. Throws if it is missing.
    func required(_ name: String, of object: DescriptionReader) throws -> DescriptionReader {
        guard let member = self[name] else { throw object.error("'\(name)' is missing") }
        return member
    }
}
