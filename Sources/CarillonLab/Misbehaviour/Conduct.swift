extension Misbehaviour {
    /// What happens to a request.
    public enum Conduct: Sendable, Hashable {
        /// An answer in the service's own form.
        case answer(OrderedAnswer)
        /// A page of HTML where the service would speak JSON, as a proxy in trouble does.
        case html(status: Int)
        /// HTTP/2: GOAWAY. Gracefully, this request is the last one answered and the connection closes after it. Otherwise
        /// GOAWAY says that this request was not processed, and the connection closes at once. `reason` goes into the debug
        /// data in APNs' form, `code` is an error code of RFC 9113, section 7. HTTP/1.1: `Connection: close` beside the
        /// answer, or no answer.
        case goAway(gracefully: Bool, reason: String? = nil, code: UInt32 = 0)
        /// HTTP/2: RST_STREAM with this error code (RFC 9113, section 7). HTTP/1.1: the connection closes.
        case reset(code: UInt32)
        /// The connection closes without a word.
        case close
        /// The connection closes in the middle of the earned answer.
        case cut
        /// The earned answer, so many milliseconds late.
        case delay(milliseconds: Int)
        /// No answer, on a connection that stays open.
        case silence
        /// HTTP/2: SETTINGS_MAX_CONCURRENT_STREAMS of the connection becomes this number; the request gets its earned answer.
        /// HTTP/1.1: nothing.
        case limitStreams(Int)

        /// An answer in the service's own form; see ``OrderedAnswer`` for what each of these is.
        public static func answer(
            status: Int,
            reason: String? = nil,
            retryAfter: Int? = nil,
            message: String? = nil,
            field: String? = nil,
            timestamp: Int64? = nil,
            headers: [LabHeader] = [],
            body: String? = nil
        ) -> Conduct {
            .answer(
                OrderedAnswer(
                    status: status,
                    reason: reason,
                    retryAfter: retryAfter,
                    message: message,
                    field: field,
                    timestamp: timestamp,
                    headers: headers,
                    body: body
                )
            )
        }

        /// 429 with `Retry-After` in seconds.
        public static func tooManyRequests(retryAfter: Int? = nil) -> Conduct {
            .answer(status: 429, retryAfter: retryAfter)
        }

        /// 410, and from APNs `Unregistered` with the present time.
        public static let gone = Conduct.answer(status: 410)

        /// APNs' 403 for a provider token older than an hour.
        public static let expiredProviderToken = Conduct.answer(status: 403, reason: "ExpiredProviderToken")

        /// RST_STREAM with REFUSED_STREAM: the request was not processed.
        public static let refuseStream = Conduct.reset(code: refusedStream)

        /// REFUSED_STREAM (RFC 9113, section 7).
        static let refusedStream: UInt32 = 0x7

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

        /// The request stays without a whole answer for good.
        var sendsNoAnswer: Bool {
            switch self {
            case .reset, .close, .cut, .silence, .goAway(gracefully: false, reason: _, code: _): true
            case .answer, .html, .delay, .limitStreams, .goAway(gracefully: true, reason: _, code: _): false
            }
        }

        /// The answer that comes instead of the earned one; nil where that stays.
        var answers: Int? {
            switch self {
            case .answer(let ordered): ordered.status
            case .html(let status): status
            default: nil
            }
        }

        /// The client is told that a request which gets no answer was not processed.
        var disownsRequest: Bool {
            switch self {
            case .reset(Self.refusedStream), .goAway(gracefully: false, reason: _, code: _): true
            default: false
            }
        }
    }
}
