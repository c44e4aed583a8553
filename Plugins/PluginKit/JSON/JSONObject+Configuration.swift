import Core
import Glibc

/// Reads a configuration block. Each error names the key and the expected value:
///
/// ```swift
/// try configuration.refuseMembers(except: ["url", "token", "token_file"])
/// let url = try configuration.requiredText("url", expected: "an https URL")
/// let token = try configuration.secret("token", file: "token_file", expected: "an access token")
/// ```
extension JSONObject {
    /// Returns the string under `key`, or nil if the key is absent or null. `expected` describes the string in the
    /// error about other types: `the key's id, 10 characters`.
    public func text(_ key: StaticString, expected: String) throws(PluginError) -> String? {
        guard let value = self[key], !value.isNull else { return nil }
        guard let text = value.string else {
            throw PluginError("\(key): expected \(expected), found \(value.kind)")
        }
        return text
    }

    /// Returns the string under `key`, which is required.
    public func requiredText(_ key: StaticString, expected: String) throws(PluginError) -> String {
        guard let text = try text(key, expected: expected) else {
            throw PluginError("\(key): expected \(expected), found nothing")
        }
        return text
    }

    /// Returns the file that the string under `key` names, or nil if the key is absent or null. `expected` describes
    /// the string: `the path of a private key in PEM`. The plugin's description marks the key with `"file": true`.
    public func file(_ key: StaticString, expected: String) throws(PluginError) -> ConfigurationFile? {
        guard let path = try text(key, expected: expected) else { return nil }
        return ConfigurationFile(path, key: key, content: filesOfHost?[named: path])
    }

    /// Returns the secret under `key`, or the only line of the file that `file` names; nil if both are absent.
    /// `expected` describes the secret. The error never contains it.
    public func secret(
        _ key: StaticString,
        file fileKey: StaticString,
        expected: String
    ) throws(PluginError) -> String? {
        let text = try text(key, expected: expected)
        guard let file = try file(fileKey, expected: "the path of a file with \(expected)") else { return text }
        guard text == nil else { throw PluginError("\(fileKey): expected either this or \(key), found both") }
        let lines = try file.text().split(whereSeparator: \.isNewline)
        guard lines.count == 1, let line = lines.first else {
            throw PluginError("\(fileKey): expected \(expected) as the only line of \(file.path)")
        }
        return String(line)
    }

    /// Returns the files that the list under `key` names, or none if the key is absent or null.
    public func files(_ key: StaticString, expected: String) throws(PluginError) -> [ConfigurationFile] {
        let contents = filesOfHost
        return try texts(key, expected: expected).map {
            ConfigurationFile($0, key: key, content: contents?[named: $0])
        }
    }

    /// The files that the host read, by path.
    private var filesOfHost: JSONObject? { self["$files"]?.object }

    /// Throws on the first member that is not in `names`, except those that the host adds.
    public func refuseMembers(except names: [StaticString]) throws(PluginError) {
        for index in 0..<count {
            let key = member(at: index).key
            if key != "$files", !names.contains(where: { $0.description == key }) {
                let known =
                    names.isEmpty ? "no keys at all" : "only \(names.map(\.description).joined(separator: ", "))"
                throw PluginError("\(key): unknown key, expected \(known)")
            }
        }
    }

    /// Returns the boolean under `key`, or nil if the key is absent or null.
    public func flag(_ key: StaticString) throws(PluginError) -> Bool? {
        guard let value = self[key], !value.isNull else { return nil }
        guard let flag = value.bool else {
            throw PluginError("\(key): expected true or false, found \(value.kind)")
        }
        return flag
    }

    /// Returns the integer under `key`, or nil if the key is absent or null.
    public func integer(_ key: StaticString, in range: ClosedRange<Int64>) throws(PluginError) -> Int64? {
        guard let value = self[key], !value.isNull else { return nil }
        guard let number = value.integer, range.contains(number) else {
            throw PluginError(
                "\(key): expected a whole number from \(range.lowerBound) to \(range.upperBound), found "
                    + (value.integer.map { "\($0)" } ?? value.kind)
            )
        }
        return number
    }

    /// Returns one of `choices` under `key`, or nil if the key is absent or null.
    public func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: StaticString,
        _ choices: Choice.Type
    ) throws(PluginError) -> Choice? {
        let expected = Choice.allCases.map(\.rawValue).joined(separator: " or ")
        guard let text = try text(key, expected: expected) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw PluginError("\(key): expected \(expected), found another text")
        }
        return choice
    }

    /// Returns the strings in the list under `key`, or none if the key is absent or null. `expected` describes each
    /// string.
    public func texts(_ key: StaticString, expected: String) throws(PluginError) -> [String] {
        guard let value = self[key], !value.isNull else { return [] }
        guard let elements = value.elements else {
            throw PluginError("\(key): expected a list of \(expected), found \(value.kind)")
        }
        var texts: [String] = []
        for element in elements {
            guard let text = element.string, !text.isEmpty else {
                throw PluginError("\(key): expected \(expected) in the list, found \(element.kind)")
            }
            texts.append(text)
        }
        return texts
    }

    /// Returns the object under `key`, or nil if the key is absent or null.
    public func mapping(_ key: StaticString, expected: String) throws(PluginError) -> JSONObject? {
        guard let value = self[key], !value.isNull else { return nil }
        guard let object = value.object else {
            throw PluginError("\(key): expected \(expected), found \(value.kind)")
        }
        return object
    }

    /// The names and values in their order.
    public var members: [(name: String, value: JSONValue)] {
        (0..<count).map { index in (member(at: index).key, member(at: index).value) }
    }

    /// The maximum supply of bitcoin.
    private static var maxSatoshis: Int64 { 2_100_000_000_000_000 }

    /// Returns the amount under `key`, given in satoshis, as millisatoshis; nil if the key is absent or null.
    public func satoshis(_ key: StaticString) throws(PluginError) -> UInt64? {
        try integer(key, in: 0...JSONObject.maxSatoshis).map { UInt64($0) * 1000 }
    }

    /// Returns the signals in the list under `key`, without duplicates, or none if the key is absent or null. Throws if
    /// a name cannot be a signal.
    public func signals(_ key: StaticString) throws(PluginError) -> Set<String> {
        let names = try texts(key, expected: "signals such as dm")
        guard names.allSatisfy(SignalName.isPossible) else {
            throw PluginError("\(key): expected signals such as dm, \(SignalName.form), found another text")
        }
        return Set(names)
    }
}

extension JSONValue {
    /// A string, a number or a boolean as text; nil for other values.
    public var literalText: String? {
        string ?? (bool != nil || number != nil ? String(decoding: raw, as: UTF8.self) : nil)
    }
}

/// The names that a signal can have: `dm`, `mention` and other built-in ones, and those of rules files.
public enum SignalName {
    /// The format as text, for errors.
    public static var form: String { "of 1 to 32 of a-z, 0-9, _ and -" }

    /// Whether a rules file could define a signal of that name. Only the router knows whether one does.
    public static func isPossible(_ name: String) -> Bool {
        (1...32).contains(name.utf8.count) && name != "batch"
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

/// A small file that a configuration names: a key, an account, a certificate.
///
/// ``JSONObject/file(_:expected:)`` returns it. The host reads it, because a plugin's process cannot open files. If the
/// host did not read it, as in a plugin's own tests, it is read from disk. For example
/// `let pem = try configuration.file("key_file", expected: "the path of a private key in PEM")?.text()`.
public struct ConfigurationFile: Sendable {
    /// The maximum size in bytes.
    private static let limit = 65_536

    /// The file's path.
    public let path: String
    private let key: StaticString
    /// The content that the host read: a string, or an object with the bytes in base64.
    private let content: JSONValue?

    /// Names a file; `key` is the configuration key, for errors.
    init(_ path: String, key: StaticString, content: JSONValue?) {
        self.path = path
        self.key = key
        self.content = content
    }

    /// Returns the whole file as text. Throws if it cannot be read, is too large or is not UTF-8.
    public func text() throws(PluginError) -> String {
        if let text = content?.string { return text }
        guard let text = String(validating: try bytes(), as: UTF8.self) else {
            throw PluginError("\(key): expected a UTF-8 text file, but \(path) is not one")
        }
        return text
    }

    /// Returns the whole file. Throws if it cannot be read or is too large.
    public func bytes() throws(PluginError) -> [UInt8] {
        guard let content else { return try read() }
        if let text = content.string { return [UInt8](text.utf8) }
        guard let encoded = content.object?["base64"]?.string,
            let bytes = Base64Alphabet.standard.decode(encoded, padding: .required)
        else { throw PluginError("\(key): expected a file that can be read, the host's copy of \(path) cannot be") }
        return bytes
    }

    private func read() throws(PluginError) -> [UInt8] {
        let limit = ConfigurationFile.limit
        guard let file = fopen(path, "re") else {
            throw PluginError("\(key): expected a file that can be read, \(path): \(String(cString: strerror(errno)))")
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else {
            throw PluginError("\(key): expected a file that can be read, \(path) cannot be")
        }
        guard count <= limit else {
            throw PluginError("\(key): expected a file of at most \(limit) bytes, \(path) holds more")
        }
        bytes.removeSubrange(count...)
        return bytes
    }
}
