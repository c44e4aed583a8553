/// What a run does, all of it drawn from the seed.
package struct ChaosPlan: Sendable {
    /// What goes wrong while it runs.
    package enum Weather: Sendable, Equatable {
        /// Nothing.
        case calm
        /// Everything, in phases.
        case chaos
        /// One transport's push service answers nothing until all others have ended; nothing else goes wrong.
        case hanging(ChaosTransport)
    }

    package var seed: UInt64
    /// Over all transports.
    package var deliveries: Int
    package var transports: [ChaosTransport]
    package var weather: Weather
    /// How often a device is pushed to.
    package var deliveriesPerDevice = 4
    /// One device of so many goes away during a chaotic run.
    package var devicesPerDeath = 25
    /// How many times faster than ours the courier's clock goes: its waits of minutes pass in seconds.
    package var haste: Int64 = 100
    /// How long a request may take, in milliseconds: plugins ask for more than a run has time for.
    package var requestTimeout: UInt32 = 2_000
    /// Attempts under way at a time for each transport.
    package var inFlight = 64
    /// When no delivery ends for so many seconds a run is given up as stuck.
    package var patience = 120

    package init(
        seed: UInt64,
        deliveries: Int,
        transports: [ChaosTransport] = ChaosTransport.allCases,
        weather: Weather = .chaos
    ) {
        self.seed = seed
        self.deliveries = max(deliveries, transports.count)
        self.transports = transports
        self.weather = weather
    }
}
