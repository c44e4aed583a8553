/// What is remembered of a profile (kind 0).
struct ContextProfile: Sendable, Hashable {
    /// Nil when it gives none.
    let name: String?
    /// Seconds since 1970, as its author claims.
    let createdAt: Int64
    /// Milliseconds since 1970.
    var learnedAt: Int64
}
