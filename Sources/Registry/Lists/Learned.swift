/// What became of a list of an author's own (kind 10002 or 10050).
package enum Learned: Hashable, Sendable {
    /// It is now the newest one known.
    case learned
    /// This very list was learned before.
    case duplicate
    /// A newer one of the same author is known.
    case outdated
    /// Another kind, or of somebody who has nothing to do with any account here.
    case ignored
    case refused(RegistrationRefusal)
}
