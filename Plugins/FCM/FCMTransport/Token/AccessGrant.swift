/// An access token as the token endpoint grants it (RFC 6749 section 5.1).
struct AccessGrant: Sendable, Hashable {
    /// The value of `authorization`: `Bearer …`.
    let authorization: String
    /// From the request on, in milliseconds.
    let lifetime: Int64
}
