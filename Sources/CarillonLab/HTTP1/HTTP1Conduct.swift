/// What to do with a request.
enum HTTP1Conduct: Sendable {
    case answer(HTTP1Answer, afterMilliseconds: Int = 0)
    case silence
    case close
    /// Head and half of the body, and the end.
    case cut(HTTP1Answer)
}
