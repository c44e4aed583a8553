/// How much a courier does at a time, for each queue of one platform and app.
package struct CourierLimits: Sendable, Equatable {
    /// Attempts under way at a time.
    package var inFlight: Int
    /// Deliveries held in memory, at least twice `inFlight`. The rest stays on disk and is read in pages.
    package var window: Int
    /// Attempts under way at a time towards one host, where endpoints are chosen by users.
    package var inFlightPerHost: Int
    /// From this many failed attempts on a delivery stands aside and lets later ones of its device pass; up to then they
    /// wait behind it, in order.
    package var standAsideAfter: Int
    /// How long a queue pauses when credentials turn out bad, in milliseconds; doubled with every probe that fails.
    package var firstPause: Int64
    /// The longest pause, in milliseconds.
    package var longestPause: Int64
    /// How long a host, or a push service as a whole, is left in peace that asked for it and did not say how long, in
    /// milliseconds; doubled each time until a delivery is accepted.
    package var firstBreak: Int64
    /// The longest of these, in milliseconds.
    package var longestBreak: Int64
    /// The longest that a host which cannot be reached, or a device whose endpoint refuses everything, is left alone,
    /// in milliseconds. It begins with `firstBreak` as well.
    package var longestDoubt: Int64

    package init(
        inFlight: Int = 500,
        window: Int = 8192,
        inFlightPerHost: Int = 16,
        standAsideAfter: Int = 4,
        firstPause: Int64 = 60_000,
        longestPause: Int64 = 15 * 60_000,
        firstBreak: Int64 = 5_000,
        longestBreak: Int64 = 15 * 60_000,
        longestDoubt: Int64 = 60_000
    ) {
        self.inFlight = max(1, inFlight)
        self.window = max(window, 2 * self.inFlight, 16)
        self.inFlightPerHost = max(1, inFlightPerHost)
        self.standAsideAfter = max(1, standAsideAfter)
        self.firstPause = max(1, firstPause)
        self.longestPause = max(self.firstPause, longestPause)
        self.firstBreak = max(1, firstBreak)
        self.longestBreak = max(self.firstBreak, longestBreak)
        self.longestDoubt = max(self.firstBreak, longestDoubt)
    }

    var breaks: GrowingPause { GrowingPause(first: firstBreak, longest: longestBreak) }

    var doubts: GrowingPause { GrowingPause(first: firstBreak, longest: longestDoubt) }

    /// Deliveries in memory that wait for a time to come; beyond it those that wait longest stay on disk alone.
    var parked: Int { window / 2 }

    /// Deliveries read from disk at once.
    var page: Int { window / 4 }
}
