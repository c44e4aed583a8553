/// An answer that a misbehaviour puts in the place of the one a request has earned, in the service's own form.
public struct OrderedAnswer: Sendable, Hashable {
    /// From 200 to 599.
    public var status: Int
    /// In the service's own words: APNs' and Apple's Web Push's reason; FCM's errorCode or Google's canonical code; the error
    /// of the token endpoint; ntfy's code or its words; Mozilla's errno; Gotify's and WNS' description. Nil: the usual
    /// one of that status.
    public var reason: String?
    /// Seconds in `Retry-After`.
    public var retryAfter: Int?
    /// What FCM and Mozilla say beside their codes.
    public var message: String?
    /// Which field FCM complains about with INVALID_ARGUMENT.
    public var field: String?
    /// With 410 from APNs: since when the token is dead, in milliseconds since 1970; nil: now.
    public var timestamp: Int64?
    /// Further headers; one of the same name is replaced.
    public var headers: [LabHeader]
    /// The whole body, instead of the service's own form.
    public var body: String?

    /// Takes a status unchecked, though JSON and the command line are held to its range.
    public init(
        status: Int,
        reason: String? = nil,
        retryAfter: Int? = nil,
        message: String? = nil,
        field: String? = nil,
        timestamp: Int64? = nil,
        headers: [LabHeader] = [],
        body: String? = nil
    ) {
        self.status = status
        self.reason = reason
        self.retryAfter = retryAfter
        self.message = message
        self.field = field
        self.timestamp = timestamp
        self.headers = headers
        self.body = body
    }
}
