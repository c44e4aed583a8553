import HTTPTypes

/// What a sender is told. A 4xx other than 408 and 429 makes Mastodon (`Web::PushNotificationWorker`) forget the subscription for good,
/// so there is one only where this URL can never work (404, 405) or its device is dead (410). All else that is wrong with a message
/// costs that message its text at most.
enum PushAnswer: Equatable {
    /// How long to stay away after ``busy``, in seconds.
    private static let pause = 30
    /// How long to stay away for a client that lost its allowance, in seconds.
    private static let longPause = 600

    case fine
    case queued
    case gone
    case unknown
    case wrongMethod(allow: String)
    case tooMany(retryAfterSeconds: Int)
    case busy

    init(_ answer: IngressAnswer) {
        self =
            switch answer {
            case .queued: .queued
            case .busy: .busy
            case .mistrusted: .tooMany(retryAfterSeconds: Self.longPause)
            case .gone: .gone
            case .unknownDevice: .unknown
            }
    }

    /// Without a body: senders look at the status alone.
    var head: HTTPResponse {
        var fields: HTTPFields = [.contentLength: "0"]
        let status: HTTPResponse.Status
        switch self {
        case .fine: status = .ok
        case .queued: status = .accepted
        case .gone: status = .gone
        case .unknown: status = .notFound
        case .wrongMethod(let allow):
            status = .methodNotAllowed
            fields[.allow] = allow
        case .tooMany(let seconds):
            status = .tooManyRequests
            fields[.retryAfter] = String(seconds)
        case .busy:
            status = .serviceUnavailable
            fields[.retryAfter] = String(Self.pause)
        }
        return HTTPResponse(status: status, headerFields: fields)
    }
}
