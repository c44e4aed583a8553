import Units

/// Limits of a courier, for each queue of one platform and app.
package struct CourierLimits: Sendable, Equatable {
    /// Attempts under way at a time, except slow ones.
    package var inFlight: Int
    /// After so long an attempt is slow, where endpoints are chosen by users: it leaves its place to another one, so that
    /// hosts that never respond hold up no others.
    package var slowAfter: Duration
    /// Slow attempts under way at a time; further ones keep their places.
    package var slow: Int
    /// Deliveries in memory, at least twice `inFlight`. The rest stays on disk and is read in pages.
    package var window: Int
    /// Attempts under way at a time towards one host, where endpoints are chosen by users.
    package var inFlightPerHost: Int
    /// After this many failed attempts a delivery stands aside and lets later ones for its device pass; until then they
    /// wait behind it, in order.
    package var standAsideAfter: Int
    /// How long a queue pauses when its credentials are bad; doubled with every probe that fails.
    package var firstPause: Duration
    /// The longest pause.
    package var longestPause: Duration
    /// How long a host or a whole push service pauses that asked for it without saying how long; doubled
    /// each time until it accepts a delivery.
    package var firstBreak: Duration
    /// The longest of these.
    package var longestBreak: Duration
    /// The longest pause of a host that cannot be reached, and of a device whose endpoint refuses everything.
    /// The first lasts `firstBreak`, too.
    package var longestDoubt: Duration

    package init(
        inFlight: Int = 500,
        slowAfter: Duration = .milliseconds(250),
        slow: Int? = nil,
        window: Int = 8192,
        inFlightPerHost: Int = 16,
        standAsideAfter: Int = 4,
        firstPause: Duration = .minutes(1),
        longestPause: Duration = .minutes(15),
        firstBreak: Duration = .seconds(5),
        longestBreak: Duration = .minutes(15),
        longestDoubt: Duration = .minutes(1)
    ) {
        self.inFlight = max(1, inFlight)
        self.slowAfter = slowAfter
        self.slow = slow ?? 4 * self.inFlight
        self.window = max(window, 2 * self.inFlight, 16)
        self.inFlightPerHost = max(1, inFlightPerHost)
        self.standAsideAfter = max(1, standAsideAfter)
        self.firstPause = max(.milliseconds(1), firstPause)
        self.longestPause = max(self.firstPause, longestPause)
        self.firstBreak = max(.milliseconds(1), firstBreak)
        self.longestBreak = max(self.firstBreak, longestBreak)
        self.longestDoubt = max(self.firstBreak, longestDoubt)
    }

    var pauses: Pause.Length { Pause.Length(first: firstPause, longest: longestPause) }

    var breaks: Pause.Length { Pause.Length(first: firstBreak, longest: longestBreak) }

    var doubts: Pause.Length { Pause.Length(first: firstBreak, longest: longestDoubt) }

    /// Deliveries in memory that wait for a due time; beyond it the latest stay on disk alone.
    var delayed: Int { window / 2 }

    /// Deliveries read from disk at once.
    var page: Int { window / 4 }
}
