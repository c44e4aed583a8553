import Cipher

/// What a request has earned.
struct APNsVerdict {
    /// Echoed, or made up where the request brought none.
    var id: String
    /// The same of `apns-request-id`, which only broadcasts and channels have.
    var requestID: String?
    /// Nil for success.
    var refusal: APNsRefusal?
    /// The provider proved who it is, whatever became of the rest.
    var isAuthorized = false

    init(_ request: HTTP2Request, _ random: RandomBytes) {
        id = Self.given(request, "apns-id") ?? UUIDText.make(random)
        if request.isAboutChannels {
            requestID = Self.given(request, "apns-request-id") ?? UUIDText.make(random)
        }
    }

    private static func given(_ request: HTTP2Request, _ name: String) -> String? {
        (try? APNsHeaders.id(request.header(name), header: name)) ?? nil
    }
}
