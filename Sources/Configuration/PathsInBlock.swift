import Foundation

/// A plugin knows nothing of the configuration file, so paths in its block must not depend on where that lies.
package enum PathsInBlock {
    /// Keys that hold a path without saying so.
    private static let names: Set = ["service_account"]

    /// The files that a block names at its top level, each with its key, in the order of the keys. Of certificates only those are among
    /// them that may come with their key.
    package static func files(in json: String) -> [(key: String, path: String)] {
        (object(json) ?? [:]).sorted { $0.key < $1.key }.flatMap { key, value -> [(String, String)] in
            if key.hasSuffix("_file") || names.contains(key) { return (value as? String).map { [(key, $0)] } ?? [] }
            if key.hasSuffix("_files") { return (value as? [Any] ?? []).compactMap { $0 as? String }.map { (key, $0) } }
            return []
        }
    }

    /// `json` with each top-level text under such a key, or under one that ends in `_file`, put through `path`, and each of a
    /// list under one that ends in `_files`.
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
