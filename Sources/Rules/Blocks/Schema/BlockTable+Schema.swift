extension BlockTable {
    /// An object with these keys and no others.
    var schema: JSONTree {
        var properties: [(key: String, value: JSONTree)] = []
        for key in keys {
            let members = key.type.schema.members
            properties.append((key.name, .object([("description", .text(key.doc))] + members)))
            guard let alias = key.alias else { continue }
            let doc = JSONTree.text("The same as '\(key.name)'.")
            properties.append((alias, .object([("description", doc), ("deprecated", true)] + members)))
        }
        return ["type": "object", "additionalProperties": false, "properties": .object(properties)]
    }
}
