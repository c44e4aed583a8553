import Glibc

/// A small file that a configuration names: a key, an account, a certificate.
public enum ConfigurationFile {
    /// The whole text file. Throws when it cannot be read, holds more than `limit` bytes or is no UTF-8; `key` is the
    /// configuration's, for the error.
    public static func read(
        _ path: String,
        key: StaticString,
        limit: Int = 65_536
    ) throws(PluginError) -> String {
        let bytes = try readBytes(path, key: key, limit: limit)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw PluginError("\(key): expected a text file, \(path) is none")
        }
        return text
    }

    /// The whole file. Throws when it cannot be read or holds more than `limit` bytes; `key` is the configuration's,
    /// for the error.
    public static func readBytes(
        _ path: String,
        key: StaticString,
        limit: Int = 65_536
    ) throws(PluginError) -> [UInt8] {
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
