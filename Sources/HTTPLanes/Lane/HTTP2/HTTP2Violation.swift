/// What a peer did wrong, and how much of the connection that costs (RFC 9113, section 5.4).
enum HTTP2Violation: Error, Equatable {
    case connection(HTTP2ErrorCode)
    /// Only the stream of the frame at hand is lost.
    case stream(HTTP2ErrorCode)
}
