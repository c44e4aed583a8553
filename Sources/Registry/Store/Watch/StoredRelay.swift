/// A relay at which keys are watched.
package struct StoredRelay: Hashable, Sendable {
    package var number: RelayNumber
    package var url: String
    /// Up to when everything that it had was dealt with, in seconds since 1970; nil when that was never so.
    package var mark: Int64?

    package init(number: RelayNumber, url: String, mark: Int64?) {
        self.number = number
        self.url = url
        self.mark = mark
    }
}
