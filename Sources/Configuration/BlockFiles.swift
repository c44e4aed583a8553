import Cipher
import Foundation

/// Tells whether a platform's block, or what is in the files that it names, has changed. Holds no secret.
package struct BlockFingerprint: Sendable, Hashable {
    private let digest: [UInt8]

    /// Reads the files.
    package init(of json: String) {
        var parts = [Array(json.utf8)]
        for file in PathsInBlock.files(in: json) {
            parts.append(Array(file.path.utf8))
            parts.append(FileManager.default.contents(atPath: file.path).map { [1] + Array($0) } ?? [])
        }
        // Each by its own digest, so that nothing can move from one part to the next.
        digest = SHA256.hash(parts.flatMap { SHA256.hash($0) })
    }
}

/// A plugin knows nothing of the configuration file, so paths in its block must not depend on where that lies.
package enum PathsInBlock {
    /// Keys that hold a path without saying so.
    private static let names: Set = ["service_account"]

    /// The files that a block names at its top level, each with its key, in the order of the keys. Of certificates only
    /// those are among them that may come with their key.
    package static func files(in json: String) -> [(key: String, path: String)] {
        (object(json) ?? [:]).sorted { $0.key < $1.key }.flatMap { key, value -> [(String, String)] in
            if key.hasSuffix("_file") || names.contains(key) { return (value as? String).map { [(key, $0)] } ?? [] }
            if key.hasSuffix("_files") { return (value as? [Any] ?? []).compactMap { $0 as? String }.map { (key, $0) } }
            return []
        }
    }

    /// `json` with each top-level text under such a key, or under one that ends in `_file`, put through `path`, and
    /// each of a list under one that ends in `_files`.
    static func resolve(_ json: String, _ path: (String) -> String) -> String {
        guard var object = object(json) else { return json }
        for (key, value) in object where key.hasSuffix("_file") || names.contains(key) {
            if let name = value as? String, !name.isEmpty { object[key] = path(name) }
        }
        for (key, value) in object where key.hasSuffix("_files") {
            guard let list = value as? [Any] else { continue }
            object[key] = list.map { item in
                (item as? String).map { $0.isEmpty ? $0 : path($0) } ?? item
            }
        }
        guard
            let data = try? JSONSerialization.data(
                withJSONObject: object,
                options: [.sortedKeys, .withoutEscapingSlashes]
            )
        else { return json }
        return String(decoding: data, as: UTF8.self)
    }

    private static func object(_ json: String) -> [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(json.utf8))) as? [String: Any]
    }
}

/// Tells whether what is in a file has changed.
struct FileFingerprint: Sendable, Hashable {
    private let digest: [UInt8]?

    /// Reads the file; one that cannot be read is like any other that cannot.
    init(of path: String) {
        digest = FileManager.default.contents(atPath: path).map { SHA256.hash(Array($0)) }
    }
}
