import Glibc

/// How many files and sockets this process may have open, of which each connection takes one.
enum OpenFiles {
    /// For what is not a user's relay: databases, our own socket, push services, information documents, plugins.
    private static let others = 2_048

    /// Raises the limit as far as the system lets us; many begin with 1,024 for the sake of `select`, which nobody here uses.
    /// Returns the limit.
    static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return others }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = raised.rlim_max
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// How many relays of users' choice may be connected to at a time, so that enough is left for everything else.
    static func relays(within limit: Int) -> Int {
        max(limit / 2, limit - others)
    }
}
