import CarillonLab

extension StatusRow {
    /// What happens to requests of busy push services below HTTP's semantics (facts/protocols 1.8; RFC 9113 sections 6.8, 7 and
    /// 8.7). What was provably not processed is sent again within the attempt; all else may have been, and is another attempt's.
    static let connections: [StatusRow] = [
        .delivered(.goAway(gracefully: true)),
        .delivered(.goAway(gracefully: false), requests: 2),
        .delivered(.goAway(gracefully: false, reason: "Shutdown"), requests: 2),
        .delivered(.refuseStream, requests: 2),
        .delivered(.limitStreams(1)),
        .delivered(.delay(milliseconds: 5)),
        .retry(.close, "closed"),
        .retry(.reset(code: 0x0), "closed"),
        .retry(.reset(code: 0x1), "closed"),
        .retry(.reset(code: 0x2), "closed"),
        .retry(.reset(code: 0x3), "closed"),
        .retry(.reset(code: 0x5), "closed"),
        .retry(.reset(code: 0x6), "closed"),
        .retry(.reset(code: 0x8), "closed"),
        .retry(.reset(code: 0xb), "closed"),
        .retry(.reset(code: 0xd), "closed"),
        .retry(.silence, "deadline"),
    ]
}
