/// Decides what the requests of one HTTP/2 connection get, and records them.
protocol HTTP2Desk {
    /// TLS is up. Returns what SETTINGS_MAX_CONCURRENT_STREAMS becomes; nil: it stays.
    mutating func begin() -> Int?

    mutating func decide(_ request: HTTP2Request) -> HTTP2Decision
}

extension HTTP2Desk {
    mutating func begin() -> Int? { nil }
}
