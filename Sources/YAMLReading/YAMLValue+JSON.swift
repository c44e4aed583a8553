import Foundation
import Yams

extension YAMLValue {
    /// This value as JSON text with sorted keys: the form in which a plugin gets its configuration. Notes a mistake and
    /// returns nil if JSON cannot express it.
    package func json() -> String? {
        json(unset: { file.note($0) }, fromEnvironment: { _ in })
    }

    /// The same, but leaves out environment variables that are not set and reports each to `unset`; `fromEnvironment`
    /// gets the texts of the others.
    package func json(unset: (Diagnostic) -> Void, fromEnvironment: (String) -> Void) -> String? {
        guard let object = jsonObject(node, path, unset, fromEnvironment) else { return nil }
        guard
            let data = try? JSONSerialization.data(
                withJSONObject: object,
                options: [.sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed]
            )
        else {
            mistake("cannot be written as JSON")
            return nil
        }
        return String(decoding: data, as: UTF8.self)
    }

    private func jsonObject(
        _ node: Node,
        _ path: String,
        _ unset: (Diagnostic) -> Void,
        _ fromEnvironment: (String) -> Void
    ) -> Any? {
        switch node {
        case .scalar(let scalar):
            if scalar.style == .plain {
                if node.null != nil { return NSNull() }
                if let number = Int(scalar.string) { return number }
                if let bool = node.bool { return bool }
                if let number = Double(scalar.string), number.isFinite { return number }
            }
            guard let text = file.expand(scalar.string) else {
                unset(file.mistake("\(path): the environment variable \(scalar.string) is not set", at: node.mark))
                return nil
            }
            if text != scalar.string { fromEnvironment(text) }
            return text
        case .sequence(let sequence):
            return sequence.enumerated().compactMap { jsonObject($1, "\(path)[\($0)]", unset, fromEnvironment) }
        case .mapping(let mapping):
            var object: [String: Any] = [:]
            for (key, value) in mapping {
                guard case .scalar(let name) = key else {
                    file.note("\(path): a key must be text", at: key.mark)
                    return nil
                }
                guard !name.isMergeKey else {
                    file.note("\(path): \(Self.mergeMistake)", at: key.mark)
                    continue
                }
                let place = path.isEmpty ? name.string : "\(path).\(name.string)"
                object[name.string] = jsonObject(value, place, unset, fromEnvironment)
            }
            return object
        case .alias:
            file.note("\(path): an alias that leads nowhere", at: node.mark)
            return nil
        }
    }
}
