/// How a note or a comment has to do with somebody.
package enum Relation: String, CaseIterable, Hashable, Sendable {
    /// It answers something that they wrote.
    case reply
    /// It quotes something that they wrote.
    case quote
    /// It names them.
    case mention
}
