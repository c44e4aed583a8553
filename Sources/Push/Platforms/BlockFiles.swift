import JSON

/// The files that a platform's block or a filter's settings name.
///
/// The plugin's description marks their keys (`"file": true`). Without a description, keys that end in `_file` and
/// `_files` are paths.
package struct BlockFiles: Sendable {
    /// Nil if there is no description.
    private let names: Set<String>?

    package init(_ description: PlatformDescription? = nil) {
        names = description.map { description in
            description.configuration.schema.keys.filter(\.isFile).reduce(into: []) { names, key in
                names.insert(key.name)
                if let alias = key.alias { names.insert(alias) }
            }
        }
    }

    /// Returns each file with its key, sorted by key. `json` is the block.
    package func named(in json: String) -> [(key: String, path: String)] {
        var files: [(key: String, path: String)] = []
        for member in members(of: json).sorted(by: { $0.name < $1.name }) {
            switch member.value {
            case .string(let path): files.append((member.name, path))
            case .array(let values):
                for case .string(let path) in values { files.append((member.name, path)) }
            default: break
            }
        }
        return files
    }

    /// Returns `json` with each path mapped by `path`.
    package func resolving(_ json: String, _ path: (String) -> String) -> String {
        guard !members(of: json).isEmpty, case .object(var object)? = try? JSONValue(parsing: json) else { return json }
        for index in object.members.indices where isFile(object.members[index].name) {
            object.members[index].value = Self.resolved(object.members[index].value, path)
        }
        return JSONValue.object(object).json
    }

    private static func resolved(_ value: JSONValue, _ path: (String) -> String) -> JSONValue {
        switch value {
        case .string(let name) where !name.isEmpty: .string(path(name))
        case .array(let values): .array(values.map { resolved($0, path) })
        default: value
        }
    }

    private func members(of json: String) -> [JSONObject.Member] {
        guard case .object(let object)? = try? JSONValue(parsing: json) else { return [] }
        return object.members.filter { isFile($0.name) }
    }

    private func isFile(_ key: String) -> Bool {
        names?.contains(key) ?? (key.hasSuffix("_file") || key.hasSuffix("_files"))
    }
}
