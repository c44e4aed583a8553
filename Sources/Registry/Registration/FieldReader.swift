import JSON
import Nostr

/// A reader of typed fields in one JSON object of a registration. Its errors name the field by its path.
struct FieldReader {
    let object: JSONObject
    /// The object's path in error messages; empty for the outermost object.
    private let path: String

    init(_ object: JSONObject, path: String = "") {
        self.object = object
        self.path = path
    }

    func path(of name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    func refusal(_ name: String, expected: String) -> RegistrationError {
        .field(path(of: name), expected: expected)
    }

    /// Returns a string of 1 to `limit` bytes without control characters; nil if the field is missing.
    func text(_ name: String, limit: Int) throws(RegistrationError) -> String? {
        guard let value = object[name] else { return nil }
        let expectation = "a text of 1 to \(limit) bytes without control characters"
        guard case .string(let text) = value, (1...limit).contains(text.utf8.count), text.isFreeOfControls else {
            throw refusal(name, expected: expectation)
        }
        return text
    }

    /// Returns a string of 1 to `limit` bytes of `alphabet`; nil if the field is missing.
    func word(_ name: String, limit: Int, of alphabet: Alphabet) throws(RegistrationError) -> String? {
        guard let value = object[name] else { return nil }
        guard case .string(let text) = value, (1...limit).contains(text.utf8.count), alphabet.spells(text) else {
            throw refusal(name, expected: "1 to \(limit) of \(alphabet.description)")
        }
        return text
    }

    func bool(_ name: String) throws(RegistrationError) -> Bool? {
        guard let value = object[name] else { return nil }
        guard case .bool(let bool) = value else { throw refusal(name, expected: "true or false") }
        return bool
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(RegistrationError) -> Int? {
        guard let value = object[name] else { return nil }
        guard case .number(let digits) = value, let number = Int(digits), range.contains(number) else {
            throw refusal(name, expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func reader(_ name: String) throws(RegistrationError) -> FieldReader? {
        guard let value = object[name] else { return nil }
        guard case .object(let object) = value else { throw refusal(name, expected: "an object") }
        return FieldReader(object, path: path(of: name))
    }

    func texts(_ name: String, count: Int, expected: String) throws(RegistrationError) -> [String]? {
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

/// The bytes that are allowed in a kind of name.
enum Alphabet: CustomStringConvertible {
    /// For platforms and signals.
    case lowerCaseName
    /// For apps and device ids.
    case name
    /// For language tags (BCP 47).
    case languageTag
    /// For the filters of plugins.
    case filterName

    func spells(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): self == .name || self == .languageTag
            case UInt8(ascii: "."): self == .name || self == .lowerCaseName
            case UInt8(ascii: "_"): true
            default: false
            }
        }
    }

    var description: String {
        switch self {
        case .lowerCaseName: "a-z 0-9 . _ -"
        case .name: "A-Z a-z 0-9 . _ -"
        case .languageTag: "A-Z a-z 0-9 _ -"
        case .filterName: "a-z 0-9 _ -"
        }
    }
}

extension String {
    /// Whether it contains no C0 or C1 control character and no DEL.
    var isFreeOfControls: Bool {
        unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) }
    }

    /// Whether it is an absolute URL of one of `schemes`, in printable ASCII, with a host. Whether the router may
    /// connect to that host is checked at each request.
    func isURL(of schemes: [String], limit: Int) -> Bool {
        guard utf8.count <= limit, utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let scheme = schemes.first(where: { hasPrefix("\($0)://") })
        else { return false }
        let authority = dropFirst(scheme.count + 3).prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        return !host.isEmpty && !host.hasPrefix(":")
    }
}

/// How large the parts of a registration may be, in bytes of UTF-8 or in entries.
enum RegistrationLimits {
    static let content = 16 * 1024
    /// The maximum length of such a content after padding, encryption and base 64 (NIP-44).
    static let payload = 22_000
    /// The maximum bytes of all tags of the event together.
    static let tags = 4096
    static let token = 4096
    static let endpoint = 2048
    static let field = 4096
    static let fields = 32
    static let name = 64
    static let label = 128
    static let signals = 64
    static let relays = 20
    static let relay = 512
    static let partners = 128
    static let seconds = 86_400
    static let dailyCap = 1_000_000
}
