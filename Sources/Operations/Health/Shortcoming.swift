import Console

/// Something for which the router cannot do all that it should.
struct Shortcoming: Hashable {
    /// One word of a small fixed set.
    let what: String
    /// For operators: which, and why. Never a secret.
    var detail = ""
}
