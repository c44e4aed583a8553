/// The body of a request for a new channel ("Sending channel management requests to APNs").
enum APNsChannelOrder {
    static let pushType = "LiveActivity"

    static func storage(_ request: HTTP2Request) throws(APNsRefusal) -> APNsChannels.Storage {
        guard !request.body.isEmpty else { throw APNsRefusal(.payloadEmpty, "there is no body") }
        guard !request.isCut, request.body.count <= APNsPushType.alert.payloadLimit else {
            throw APNsRefusal(.payloadTooLarge, "the body is far longer than a channel takes")
        }
        guard let members = JSONValue(parsing: request.body)?.object else {
            throw APNsRefusal(.badRequestPayload, "the body is not a JSON object")
        }
        guard let pushType = members["push-type"] else {
            throw APNsRefusal(.missingPushType, "the body has no push-type")
        }
        guard pushType.string == Self.pushType else {
            throw APNsRefusal(.invalidPushType, "push-type is not \(Self.pushType)")
        }
        guard let policy = members["message-storage-policy"]?.integer,
            let storage = APNsChannels.Storage(rawValue: policy)
        else { throw APNsRefusal(.badRequestParams, "message-storage-policy is neither 0 nor 1") }
        return storage
    }
}
