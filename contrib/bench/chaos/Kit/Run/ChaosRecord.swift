import PluginHost

/// All that is known of a run when it is over: what the judge judges.
package struct ChaosRecord: Sendable {
    package var plan: ChaosPlan
    package var population: Population
    package var journal: Journal
    /// What the lab saw, in its order.
    package var arrivals: [Arrival]
    /// Requests to the lab's token endpoint.
    package var tokenRequests = 0
    /// Devices that are registered still.
    package var registered: Set<Int64>
    /// Deliveries in the outbox, opened anew.
    package var leftInOutbox: Int
    /// What plugins did against the rules of the ABI.
    package var pluginMistakes: [String] = []
    package var injected: [ChaosTransport: [Mischief: Int]] = [:]
    package var tokenMischiefs = 0
    package var scripts: [ChaosTransport: PhaseScript] = [:]
    /// From the first acceptance to the last final report, in seconds.
    package var seconds: [ChaosTransport: Double] = [:]
    /// Nobody heard anything any more while deliveries were open.
    package var wasStuck = false

    package init(
        plan: ChaosPlan,
        population: Population,
        journal: Journal,
        arrivals: [Arrival],
        registered: Set<Int64>,
        leftInOutbox: Int
    ) {
        self.plan = plan
        self.population = population
        self.journal = journal
        self.arrivals = arrivals
        self.registered = registered
        self.leftInOutbox = leftInOutbox
    }
}
