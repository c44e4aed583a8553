extension JSONObject {
    /// The text under `key`; nil when the key is absent or empty (null). `expected` says what the text is, for the error
    /// about anything that is no text: `the key's id, 10 characters`.
    public func text(_ key: StaticString, expected: String) throws(PluginError) -> String? {
        guard let value = self[key], !value.isNull else { return nil }
        guard let text = value.string else {
            throw PluginError("\(key): expected \(expected), found \(value.kind)")
        }
        return text
    }

    /// The text under `key`, which has to be there.
    public func requiredText(_ key: StaticString, expected: String) throws(PluginError) -> String {
        guard let text = try text(key, expected: expected) else {
            throw PluginError("\(key): expected \(expected), found nothing")
        }
        return text
    }

    /// Throws on the first member that is none of `names`.
    public func refuseMembers(except names: [StaticString]) throws(PluginError) {
        for index in 0..<count {
            let key = member(at: index).key
            if !names.contains(where: { $0.description == key }) {
                let known =
                    names.isEmpty ? "no keys at all" : "only \(names.map(\.description).joined(separator: ", "))"
                throw PluginError("\(key): unknown key, expected \(known)")
            }
        }
    }
}
