import RelayPool

/// Where an ``AccountWatch`` has keys watched.
package protocol RelayWatching: Sendable {
    /// Changes what is watched at one relay. `isOperators` says that the configuration names the relay, not only users. Must not
    /// block and must not call the watch back before it returns.
    func update(_ relay: RelayURL, _ changes: [WatchChange], isOperators: Bool)
}

extension RelayPool: RelayWatching {}
