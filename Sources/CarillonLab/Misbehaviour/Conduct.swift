extension Misbehaviour {
    /// What happens to a request.
    public enum Conduct: Sendable, Hashable {
        /// An answer in the service's own form. Without a reason, the usual one of that status.
        /// `retryAfter` in seconds.
        case answer(status: Int, reason: String? = nil, retryAfter: Int? = nil)
        /// A page of HTML where the service would speak JSON, as a proxy in trouble does.
        case html(status: Int)
        /// HTTP/2: GOAWAY. Gracefully, this request is the last one answered and the connection closes after it. Otherwise
        /// GOAWAY says that this request was not processed, and the connection closes at once. HTTP/1.1: `Connection: close`
        /// beside the answer, or no answer.
        case goAway(gracefully: Bool, reason: String? = nil)
        /// HTTP/2: RST_STREAM with this error code (RFC 9113, section 7). HTTP/1.1: the connection closes.
        case reset(code: UInt32)
        /// The connection closes without a word.
        case close
        /// Status and headers of the earned answer and half of its body, then the connection closes.
        case cut
        /// The earned answer, so many milliseconds late.
        case delay(milliseconds: Int)
        /// No answer, on a connection that stays open.
        case silence
        /// HTTP/2: SETTINGS_MAX_CONCURRENT_STREAMS of the connection becomes this number; the request gets its earned answer.
        /// HTTP/1.1: nothing.
        case limitStreams(Int)

        /// 429 with `Retry-After` in seconds.
        public static func tooManyRequests(retryAfter: Int? = nil) -> Conduct {
            .answer(status: 429, retryAfter: retryAfter)
        }

        /// 410, and from APNs `Unregistered` with the present time.
        public static let gone = Conduct.answer(status: 410)

        /// APNs' 403 for a provider token older than an hour.
        public static let expiredProviderToken = Conduct.answer(status: 403, reason: "ExpiredProviderToken")

        /// RST_STREAM with REFUSED_STREAM: the request was not processed.
        public static let refuseStream = Conduct.reset(code: 0x7)

        /// The word for it in JSON and on the command line.
        public var kind: String {
            switch self {
            case .answer: "answer"
            case .html: "html"
            case .goAway: "goaway"
            case .reset: "reset"
            case .close: "close"
            case .cut: "cut"
            case .delay: "delay"
            case .silence: "silence"
            case .limitStreams: "streams"
            }
        }
    }
}

extension Misbehaviour.Conduct {
    /// The request stays without an answer for good.
    var sendsNoAnswer: Bool {
        switch self {
        case .reset, .close, .cut, .silence, .goAway(gracefully: false, reason: _): true
        case .answer, .html, .delay, .limitStreams, .goAway(gracefully: true, reason: _): false
        }
    }
}
