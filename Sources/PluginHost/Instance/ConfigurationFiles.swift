import Cipher
import Glibc
import JSON
import Platforms
import Units

/// The files that a platform's block names, which the host reads for the plugin: its process may open none.
///
/// The plugin's description marks the keys (`"file": true`). What the files hold stands in the configuration under
/// `$files`, by their paths: a text, or `{"base64": …}` where a file is no UTF-8.
package struct ConfigurationFiles {
    /// The member of the configuration that holds them.
    package static let member = "$files"
    /// The most that one file may hold.
    package static let limit: ByteCount = .kibibytes(64)
    /// The most that a configuration may hold with all its files.
    package static let totalLimit: ByteCount = .mebibytes(2)

    private let keys: [ObjectSchema.Key]

    /// For the platform that `description` is about; nil, or one without marked keys: there are no files.
    package init(_ description: PlatformDescription?) {
        keys = description?.configuration.schema.keys.filter(\.isFile) ?? []
    }

    /// `configuration` with the files that it names. What is no JSON object is for the plugin to refuse.
    ///
    /// Throws for the first file that cannot be had: under which key it is, and what was expected.
    package func adding(to configuration: String) throws(ConfigurationFileError) -> String {
        guard !keys.isEmpty, case .object(var object)? = try? JSONValue(parsing: configuration) else {
            return configuration
        }
        guard !object.members.contains(where: { $0.name == Self.member }) else {
            throw ConfigurationFileError("\(Self.member): expected no such key: the router sets it")
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
            throw ConfigurationFileError("expected files that hold at most \(Self.totalLimit) bytes together")
        }
        return whole
    }

    /// Values of other types are for the plugin to refuse.
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

    /// The whole file; of a pipe what comes until its writer closes it.
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

/// Why a file that a configuration names cannot be handed to the plugin. It never quotes what is in the file.
package struct ConfigurationFileError: Error, Hashable, CustomStringConvertible {
    package let description: String

    fileprivate init(_ description: String) { self.description = description }
}
