import Notifications

/// Leaves devices alone for a while whose endpoint refuses one push after the other, where users choose the endpoint.
///
/// A refusal costs its push and asks for no pause, so an endpoint that refuses at once would be sent more than one that
/// takes everything.
struct EndpointBreaks: Sendable {
    private struct Endpoint: Sendable {
        var refusals = 0
        var refusedAt = Int64.min
        var pausedUntil = Int64.min
        var breaks: GrowingPause
    }

    /// How many times the longest break without a refusal makes it forgotten.
    private static let memory: Int64 = 10

    private var endpoints: [DeviceID: Endpoint] = [:]
    private var sweepAt = 256
    private let limit: Int
    private let breaks: GrowingPause

    /// `limit` is after how many refusals in a row the first break begins.
    init(limit: Int, breaks: GrowingPause) {
        self.limit = limit
        self.breaks = breaks
    }

    /// Until when nothing goes to a device, in milliseconds since 1970; nil when it may.
    func pausedUntil(_ device: DeviceID, now: Int64) -> Int64? {
        // A break that is longer than any was begun before the clock was set back.
        guard let until = endpoints[device]?.pausedUntil, until > now, until - now <= breaks.longest else { return nil }
        return until
    }

    mutating func refused(_ device: DeviceID, now: Int64) {
        sweep(now: now)
        var endpoint = endpoints[device] ?? Endpoint(breaks: breaks)
        endpoint.refusals += 1
        endpoint.refusedAt = now
        if endpoint.refusals >= limit { endpoint.pausedUntil = now + endpoint.breaks.next() }
        endpoints[device] = endpoint
    }

    /// It took a push, or is no more.
    mutating func forget(_ device: DeviceID) { endpoints[device] = nil }

    mutating func follow(clockSetBackBy step: Int64) {
        for device in endpoints.keys {
            endpoints[device]?.refusedAt.setBack(by: step)
            endpoints[device]?.pausedUntil.setBack(by: step)
        }
    }

    private mutating func sweep(now: Int64) {
        guard endpoints.count > sweepAt else { return }
        endpoints = endpoints.filter { $0.value.refusedAt > now - Self.memory * breaks.longest }
        sweepAt = max(256, 2 * endpoints.count)
    }
}
