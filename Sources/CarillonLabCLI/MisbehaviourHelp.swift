import CarillonLab

/// What `serve` and `misbehave` say about misbehaviours.
enum MisbehaviourHelp {
    static let text = """
        MISBEHAVIOUR is a kind and key=value pairs with commas between, or the same as a JSON object. It happens to requests \
        that pass every check, in the order given. Kinds:
          answer   status, and as far as they are wanted reason, retry_after (seconds), message, field (FCM's INVALID_ARGUMENT), timestamp (APNs' 410, \
        milliseconds), header.NAME, body. The answer has the service's own form; reason is APNs' or Apple's reason, FCM's \
        errorCode or Google's status, ntfy's code, Mozilla's errno, Gotify's or WNS' description.
          html     status: a proxy's page
          goaway   gracefully (true), reason, code: HTTP/2 GOAWAY; ungracefully, this request was not processed
          reset    code (7, REFUSED_STREAM): HTTP/2 RST_STREAM, a closed connection in HTTP/1.1
          close    the connection, without a word
          cut      the connection, in the middle of the answer
          delay    milliseconds
          silence  no answer, the connection stays
          streams  streams: SETTINGS_MAX_CONCURRENT_STREAMS from now on
        For all: service (\(services)), target (token, topic or subscription), after (requests that pass first), times (1; \
        0 for ever), share (part of the requests by the lot, from 0 to 1; then times is 0), seed, burst (with share: how many \
        in a row).
        """

    private static let services = LabService.allCases.map(\.rawValue).joined(separator: ", ")
}
