/// What clients may do, so that no one of them, and no number of them, takes the pipeline's time from the others.
struct SessionLimits {
    /// Sessions at the same time; for a further one the session that was unused for longest ends.
    var sessions = 10_000
    /// After so long without use a session is over, in milliseconds: clients register anew every 30 days (seed 004, section 3).
    var unused: Int64 = 90 * 86_400_000
    /// How old the note of a session's last use may be before it is written down again, in milliseconds.
    var useNoted: Int64 = 3_600_000
    /// Requests of one client that has a session.
    var requests = RateLimit(burst: 30, interval: 1_000)
    /// Registrations of one client that has a session: as many at once as one account may have devices.
    var registrations = RateLimit(burst: 32, interval: 10_000)
    /// What all clients that have a session may have written to disk: registrations, and sessions opened anew.
    var writes = RateLimit(burst: 200, interval: 20)
    /// Requests of one client without a session.
    var strangersRequests = RateLimit(burst: 6, interval: 10_000)
    /// Requests of all clients without a session. Under a flood from many keys new clients wait; those with a session do not.
    var allStrangersRequests = RateLimit(burst: 200, interval: 50)
    /// Clients without a session whose rate is remembered.
    var strangers = 10_000
    /// Requests that are remembered at least.
    var recentRequests = 50_000
}
