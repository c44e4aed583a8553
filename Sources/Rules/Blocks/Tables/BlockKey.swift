/// One key of a platform's block.
struct BlockKey: Sendable {
    let name: String
    /// Another spelling that is read, and written as ``name``.
    let alias: String?
    let type: BlockValueType
    /// Whether the push service or the app refuses the object without it. If variables leave it out, the object goes
    /// too.
    let isRequired: Bool
    /// One sentence for those who write rules.
    let doc: String

    init(
        _ name: String,
        alias: String? = nil,
        _ type: BlockValueType,
        isRequired: Bool = false,
        _ doc: String
    ) {
        self.name = name
        self.alias = alias
        self.type = type
        self.isRequired = isRequired
        self.doc = doc
    }
}
