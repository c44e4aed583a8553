/// What to do with a request.
struct HTTP2Decision {
    /// What it earned, or what a misbehaviour put in its place.
    var answer: HTTPAnswer
    /// What else is to happen to it.
    var conduct: Misbehaviour.Conduct?
    /// What SETTINGS_MAX_CONCURRENT_STREAMS becomes first; nil: it stays.
    var streamLimit: Int?
    /// The debug data of a GOAWAY; none where it is empty.
    var farewell: [UInt8] = []
}
