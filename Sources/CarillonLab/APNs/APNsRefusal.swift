/// Why a request is not accepted.
struct APNsRefusal: Error, Equatable {
    var reason: APNsReason
    /// With 410: since when the token is dead, in milliseconds since 1970.
    var timestamp: Int64?
    /// What APNs does not say: what exactly was wrong.
    var detail: String

    init(_ reason: APNsReason, timestamp: Int64? = nil, _ detail: String) {
        self.reason = reason
        self.timestamp = timestamp
        self.detail = detail
    }
}
