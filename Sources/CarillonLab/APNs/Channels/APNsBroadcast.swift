/// A push to all who subscribed to a channel ("Sending broadcast push notification requests to APNs").
struct APNsBroadcast {
    static let payloadLimit = 5_120

    private static let single = [
        "authorization", "apns-id", "apns-request-id", "apns-channel-id", "apns-priority", "apns-push-type",
        "apns-expiration",
    ]

    let bundleID: String
    let channel: String
    let priority: Int
    /// Seconds since 1970; 0 for a push that is not stored.
    let expiration: Int64

    /// Checks all but who sends it.
    init(checking request: HTTP2Request) throws(APNsRefusal) {
        try APNsHeaders.checkDuplicates(request, Self.single)
        _ = try APNsHeaders.id(request.header("apns-id"))
        _ = try APNsHeaders.id(request.header("apns-request-id"), header: "apns-request-id")
        guard request.method == "POST" else {
            throw APNsRefusal(.methodNotAllowed, "the method is \(request.method), expected POST")
        }
        guard let bundleID = request.bundleIDToBroadcastFor, !bundleID.isEmpty, !bundleID.contains("/") else {
            throw APNsRefusal(.badPath, "the path is not /4/broadcasts/apps/ and a bundle id")
        }
        self.bundleID = bundleID
        channel = try APNsChannels.id(request)
        guard let expiration = request.header("apns-expiration"), APNsHeaders.isUnixTime(expiration),
            let seconds = Int64(expiration)
        else {
            throw APNsRefusal(.badExpirationDate, "apns-expiration is not there, or no number of seconds since 1970")
        }
        self.expiration = seconds
        priority = try APNsHeaders.priority(request.header("apns-priority"))
        guard let pushType = request.header("apns-push-type") else {
            throw APNsRefusal(.missingPushType, "there is no apns-push-type")
        }
        guard pushType == APNsPushType.liveactivity.rawValue else {
            throw APNsRefusal(.invalidPushType, "a broadcast is of push type liveactivity")
        }
    }

    func check(
        _ request: HTTP2Request,
        _ sender: APNsSender,
        _ state: APNsState,
        in environment: APNsEnvironment
    ) throws(APNsRefusal) {
        try sender.check(bundleID: bundleID)
        try state.channels.check()
        let storage = try state.channels.storage(of: channel, bundleID, in: environment)
        guard storage == .latest || expiration == 0 else {
            throw APNsRefusal(.badExpirationDate, "a channel that stores no message takes apns-expiration 0 only")
        }
        try APNsPayload.check(broadcast: request, limit: Self.payloadLimit, priority: priority)
    }
}
