/// The keys of one mapping in a platform's block. It drives what is checked when the file is read, and the JSON Schema.
struct BlockTable: Sendable {
    let keys: [BlockKey]

    init(_ keys: BlockKey...) {
        self.keys = keys
    }

    init(_ keys: [BlockKey]) {
        self.keys = keys
    }

    /// Every name that may stand in the file.
    var names: [String] { keys.flatMap { [$0.name] + ($0.alias.map { [$0] } ?? []) } }
}
