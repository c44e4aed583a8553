/// One key of a platform's block.
struct BlockKey: Sendable {
    let name: String
    /// Another spelling that is read, and written as ``name``.
    let alias: String?
    let type: BlockValueType
    /// One sentence for those who write rules.
    let doc: String

    init(_ name: String, alias: String? = nil, _ type: BlockValueType, _ doc: String) {
        self.name = name
        self.alias = alias
        self.type = type
        self.doc = doc
    }
}
