extension HTTP1Conduct {
    /// How an answer goes back, or does not.
    init(_ answer: HTTP1Answer, misbehaving conduct: Misbehaviour.Conduct?) {
        switch conduct {
        case .delay(let milliseconds): self = .answer(answer, afterMilliseconds: milliseconds)
        case .silence: self = .silence
        case .close, .reset, .goAway(gracefully: false, reason: _): self = .close
        case .cut: self = .cut(answer)
        case .goAway(gracefully: true, reason: _):
            var last = answer
            last.closes = true
            self = .answer(last)
        case nil, .answer, .html, .limitStreams: self = .answer(answer)
        }
    }
}

extension HTTP1Answer {
    /// The page of a proxy in trouble.
    init(htmlPageWithStatus status: Int) {
        self.init(status: status, contentType: "text/html; charset=utf-8", Array(HTMLPage.text(status: status).utf8))
    }
}
