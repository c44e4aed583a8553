extension HTTP1Conduct {
    /// How an answer goes back, or does not.
    init(_ answer: HTTPAnswer, misbehaving conduct: Misbehaviour.Conduct?) {
        switch conduct {
        case .delay(let milliseconds): self = .answer(answer, afterMilliseconds: milliseconds)
        case .silence: self = .silence
        case .cut: self = .cut(answer)
        case .close, .reset, .goAway(gracefully: false, reason: _, code: _): self = .close
        case .goAway(gracefully: true, reason: _, code: _): self = .answer(answer, closes: true)
        case nil, .answer, .html, .limitStreams: self = .answer(answer)
        }
    }
}
