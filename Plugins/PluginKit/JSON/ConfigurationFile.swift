import ASCII
import Glibc

/// A small file that a configuration names: a key, an account, a certificate.
///
/// ``JSONObject/file(_:expected:)`` finds it. The host reads it, as a plugin's process may open no files; a host of
/// before ABI 1.5 does not, and then it is read from the disk.
public struct ConfigurationFile: Sendable {
    /// The most bytes that it may hold.
    private static let limit = 65_536

    /// Where it is.
    public let path: String
    private let key: StaticString
    /// As the host read it: a text, or an object with its bytes in base 64.
    private let content: JSONValue?

    /// `key` is the configuration's, for errors.
    init(_ path: String, key: StaticString, content: JSONValue?) {
        self.path = path
        self.key = key
        self.content = content
    }

    /// The whole text file. Throws when it cannot be read, is too large or is no UTF-8.
    public func text() throws(PluginError) -> String {
        if let text = content?.string { return text }
        guard let text = String(validating: try bytes(), as: UTF8.self) else {
            throw PluginError("\(key): expected a text file, \(path) is none")
        }
        return text
    }

    /// The whole file. Throws when it cannot be read or is too large.
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
