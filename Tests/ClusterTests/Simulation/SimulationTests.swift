import CostTestSupport
import Testing

/// Leases, logs and hand-over under thousands of schedules of crashes, pauses, cut links, delays and doubled messages.
struct SimulationTests {
    @Test func noDeliveryIsLostAndFencedOwnersDoNotSend() {
        var (repeats, openings, appends, refused, snapshots, withdrawn) = (0, 0, 0, 0, 0, 0)
        let schedules = TestLength.rounds(40, long: 10_000)
        for seed in 0..<UInt64(schedules) {
            let simulation = ClusterSimulation(seed: seed)
            if let violation = simulation.run() {
                Issue.record("seed \(seed): \(violation)")
                return
            }
            repeats += simulation.repeats
            openings += simulation.openings
            appends += simulation.storage.appends
            refused += simulation.storage.refusedAppends
            snapshots += simulation.storage.snapshots
            withdrawn += simulation.withdrawn.count
        }
        // The schedules have the intended effects: partitions change owners, owners are fenced, pushes are repeated.
        #expect(openings > schedules * ClusterSimulation.partitions)
        #expect(refused > 0 && repeats > 0 && snapshots > schedules && withdrawn > 0)
        guard TestLength.isLong else { return }
        print(
            "\(schedules) schedules: \(appends) appends, \(refused) refused, \(openings) openings,"
                + " \(snapshots) snapshots, \(repeats) sends that were not the first, \(withdrawn) deletions before the first"
        )
    }

    @Test func aSeedRepeatsItsSchedule() {
        let runs = (0..<2).map { _ in
            let simulation = ClusterSimulation(seed: 7)
            _ = simulation.run()
            return [
                Int(simulation.time), simulation.repeats, simulation.openings, simulation.storage.appends,
                simulation.storage.refusedAppends,
            ]
        }
        #expect(runs[0] == runs[1])
    }

    /// The simulation finds bugs that were planted on purpose.
    @Test(arguments: PlantedBug.allCases.filter { $0 != .none })
    func plantedErrorsAreFound(_ bug: PlantedBug) {
        let found = (0..<UInt64(400)).first { ClusterSimulation(seed: $0, bug: bug).run() != nil }
        #expect(found != nil)
    }
}
