import Notifications
import Units

/// Pauses devices whose endpoint refuses one push after the other, where users choose the endpoint.
///
/// A refusal ends its push and asks for no pause, so without this an endpoint that refuses at once would be sent more
/// than one that accepts everything.
///
/// A refusal counts for its device and not for the host, because other users are at that host.
struct EndpointPauses: Sendable {
    private struct Endpoint: Sendable {
        var refusals = 0
        var refusedAt = Timestamp.distantPast
        var pause: Pause
        var length: Pause.Length
    }

    /// An endpoint is forgotten after so many times the longest pause without a refusal.
    private static let memory = 10

    private var endpoints: [DeviceID: Endpoint] = [:]
    private var sweepAt = 256
    private let limit: Int
    private let length: Pause.Length

    /// `limit` is the number of refusals in a row after which the first pause begins.
    init(limit: Int, length: Pause.Length) {
        self.limit = limit
        self.length = length
    }

    /// The end of a device's pause; nil when it is not paused.
    func pausedUntil(_ device: DeviceID, now: Timestamp) -> Timestamp? { endpoints[device]?.pause.end(at: now) }

    mutating func refused(_ device: DeviceID, now: Timestamp) {
        sweep(now: now)
        var endpoint = endpoints[device] ?? Endpoint(pause: Pause(longest: length.longest), length: length)
        endpoint.refusals += 1
        endpoint.refusedAt = now
        if endpoint.refusals >= limit { endpoint.pause.begin(lasting: endpoint.length.next(), now: now) }
        endpoints[device] = endpoint
    }

    /// The endpoint accepted a push, or its device is gone.
    mutating func forget(_ device: DeviceID) { endpoints[device] = nil }

    /// Lets every endpoint be tried again now.
    mutating func unpause(now: Timestamp) {
        for device in endpoints.keys { endpoints[device]?.pause.begin(lasting: .zero, now: now) }
    }

    mutating func follow(clockSetBackBy step: Duration) {
        for device in endpoints.keys {
            endpoints[device]?.refusedAt -= step
            endpoints[device]?.pause.follow(clockSetBackBy: step)
        }
    }

    private mutating func sweep(now: Timestamp) {
        guard endpoints.count > sweepAt else { return }
        endpoints = endpoints.filter { $0.value.refusedAt > now - length.longest * Self.memory }
        sweepAt = max(256, 2 * endpoints.count)
    }
}
