/// Whom a lane reports to, on its event loop.
protocol LaneOwner: AnyObject {
    /// It may take requests now; they are flushed when this returns.
    func laneHasRoom(_ lane: Lane)
    /// The server chose another protocol in ALPN (RFC 7301); the lane closes itself.
    func laneSpeaksNoHTTP2(_ lane: Lane)
    /// The server has not processed it.
    func laneRefused(_ exchange: Exchange)
    /// The last that is heard of a lane.
    func laneClosed(_ lane: Lane, hasAnswered: Bool, _ reason: HTTPFailure.Reason)
}
