/// What to do with a request.
enum HTTP1Conduct: Sendable {
    /// `closes`: the connection ends with it.
    case answer(HTTPAnswer, afterMilliseconds: Int = 0, closes: Bool = false)
    /// The connection ends in the middle of it.
    case cut(HTTPAnswer)
    case silence
    case close
}
