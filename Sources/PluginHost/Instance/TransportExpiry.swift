/// Something of a transport's credentials that is of no use after a moment.
package struct TransportExpiry: Sendable, Hashable {
    /// One word, fit for a metric's label.
    package var what: String
    /// Seconds since 1970.
    package var at: Int64
}
