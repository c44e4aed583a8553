import Notifications

/// How a device was woken lately, as the outbox keeps it beside the deliveries. Times are in milliseconds since 1970.
package struct PaceRow: Sendable, Hashable {
    package var device: DeviceID
    /// When the last push was delivered; 0: never.
    package var pushedAt: Int64
    package var windowStart: Int64
    /// In the window.
    package var matches: Int32
    /// The UTC day that `pushes` are of, counted from 1970.
    package var dayOfPushes: Int32
    package var pushes: Int32
    /// The id of the delivery that was released last; nil once its end is known.
    package var underWay: String?
    package var releasedAt: Int64
    /// How many deliveries in a row stood aside and let the next one go.
    package var aside: Int32
    /// When the last silent pushes were released, as many as an hour has; empty where nobody counts them.
    package var silentPushes: [Int64]

    /// So many in a row are no bad deliveries, but a push service that is down: what follows is gathered.
    package static let mostAside: Int32 = 3

    package init(
        device: DeviceID,
        pushedAt: Int64 = 0,
        windowStart: Int64 = 0,
        matches: Int32 = 0,
        dayOfPushes: Int32 = 0,
        pushes: Int32 = 0,
        underWay: String? = nil,
        releasedAt: Int64 = 0,
        aside: Int32 = 0,
        silentPushes: [Int64] = []
    ) {
        self.device = device
        self.pushedAt = pushedAt
        self.windowStart = windowStart
        self.matches = matches
        self.dayOfPushes = dayOfPushes
        self.pushes = pushes
        self.underWay = underWay
        self.releasedAt = releasedAt
        self.aside = aside
        self.silentPushes = silentPushes
    }
}
