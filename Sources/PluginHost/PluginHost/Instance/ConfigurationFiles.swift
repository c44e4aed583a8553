import Cipher
import Core
import Glibc
import JSON
import Push

/// The files that a platform's block names. The host reads them, because the plugin's process may not open files.
///
/// The plugin's description marks the keys (`"file": true`). The configuration contains the contents under `$files`, by
/// path: a string, or `{"base64": …}` if the file is not UTF-8.
package struct ConfigurationFiles {
    /// The member of the configuration with the contents.
    package static let member = "$files"
    /// The maximum size of a file.
    package static let limit: ByteCount = .kibibytes(64)
    /// The maximum size of a configuration with all its files.
    package static let totalLimit: ByteCount = .mebibytes(2)

    private let keys: [ObjectSchema.Key]

    /// The files of the described platform. If `description` is nil or marks no keys, there are none.
    package init(_ description: PlatformDescription?) {
        keys = description?.configuration.schema.keys.filter(\.isFile) ?? []
    }

    /// Returns `configuration` with the files that it names. The plugin rejects a configuration that is not a JSON
    /// object.
    ///
    /// Throws for the first unreadable file, naming its key and the expected content.
    package func adding(to configuration: String) throws(ConfigurationFileError) -> String {
        guard !keys.isEmpty, case .object(var object)? = try? JSONValue(parsing: configuration) else {
            return configuration
        }
        guard !object.members.contains(where: { $0.name == Self.member }) else {
            throw ConfigurationFileError("\(Self.member): remove this key: only the router sets it")
        }
        var files: [JSONObject.Member] = []
        for key in keys {
            for path in Self.paths(under: key, in: object) where !files.contains(where: { $0.name == path }) {
                let bytes = try Self.read(path, key: key.name)
                files.append(JSONObject.Member(name: path, value: Self.value(of: bytes)))
            }
        }
        guard !files.isEmpty else { return configuration }
        object.members.append(JSONObject.Member(name: Self.member, value: .object(JSONObject(members: files))))
        let whole = JSONValue.object(object).json
        guard whole.utf8.count <= Self.totalLimit.bytes else {
            throw ConfigurationFileError("expected files with at most \(Self.totalLimit) bytes in total")
        }
        return whole
    }

    /// Returns the paths under a key. The plugin rejects values of other types.
    private static func paths(under key: ObjectSchema.Key, in object: JSONObject) -> [String] {
        switch (key.schema, object[key.name] ?? key.alias.flatMap { object[$0] }) {
        case (.text, .string(let path)): [path]
        case (.list, .array(let elements)):
            elements.compactMap { element in
                if case .string(let path) = element { path } else { nil }
            }
        default: []
        }
    }

    private static func value(of bytes: [UInt8]) -> JSONValue {
        if let text = String(validating: bytes, as: UTF8.self) { return .string(text) }
        let encoded = JSONObject.Member(name: "base64", value: .string(Base64.encode(bytes)))
        return .object(JSONObject(members: [encoded]))
    }

    /// Reads the whole file. Reads a pipe until its writer closes it.
    private static func read(_ path: String, key: String) throws(ConfigurationFileError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard file >= 0 else {
            let reason = String(cString: strerror(errno))
            throw ConfigurationFileError("\(key): expected a file that can be read, \(path): \(reason)")
        }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: limit.bytes + 1)
        var count = 0
        while count < bytes.count {
            let result = bytes.withUnsafeMutableBytes { room in
                Glibc.read(file, room.baseAddress?.advanced(by: count), room.count - count)
            }
            if result < 0, errno == EINTR { continue }
            guard result >= 0 else {
                throw ConfigurationFileError("\(key): expected a file that can be read, \(path) cannot be")
            }
            if result == 0 { break }
            count += result
        }
        guard count <= limit.bytes else {
            throw ConfigurationFileError("\(key): expected a file of at most \(limit) bytes, \(path) holds more")
        }
        return Array(bytes.prefix(count))
    }
}

/// Why the host cannot pass a file of the configuration to the plugin. It never quotes the file.
package struct ConfigurationFileError: Error, Hashable, CustomStringConvertible {
    package let description: String

    fileprivate init(_ description: String) { self.description = description }
}
