import Push
import Testing

@testable import Delivery

/// In an outbox for 64, a queue has 16 places, and a host that users chose has four of these.
@Suite final class QueueQuotaTests {
    private var share = QueueQuota(of: 64)

    private static func device(_ number: Int) -> DeviceID { DeviceID(rawValue: Int64(number)) }

    /// Adds a delivery, first without its host like the pipeline, then with the host that the courier finds.
    private func bring(_ device: Int, at host: String? = nil) -> Bool {
        let device = Self.device(device)
        var decision = share.take(device)
        if decision == .dependsOnHost { decision = share.take(device, at: host) }
        if decision == .taken { share.add(for: device) }
        share.settle()
        if let host { share.locate(device, at: host) }
        return decision == .taken
    }

    @Test func queueTakesAtMostItsShare() {
        let taken = (0..<100).map { bring($0) }
        #expect(taken == Array(repeating: true, count: 16) + Array(repeating: false, count: 84))
        #expect(share.count == 16 && share.isBehind)
    }

    @Test func removedDeliveryFreesCapacity() {
        for device in 0..<20 { _ = bring(device) }
        share.remove(for: Self.device(3))
        #expect(share.isBehind)
        #expect(bring(100))
        #expect(!bring(101))
        for device in 4..<12 { share.remove(for: Self.device(device)) }
        #expect(share.count == 8 && !share.isBehind)
    }

    @Test func oneHostLeavesCapacityForOthers() {
        for device in 0..<100 { _ = bring(device, at: "hole") }
        #expect(share.count == 4 && share.isBehind)
        let well = (100..<104).map { bring($0, at: "well") }
        #expect(!well.contains(false))
        let others = (200..<204).map { bring($0, at: "others") }
        #expect(!others.contains(false))
        share.remove(for: Self.device(0))
        share.remove(for: Self.device(1))
        #expect(!share.isBehind)
        #expect(bring(5, at: "hole"))
    }

    @Test func deviceHasOneDeliveryOnceTheQueueIsLong() {
        // A server can have many names.
        let taken = (0..<40).map { bring($0 % 2, at: "name-\($0)") }
        #expect(taken.count { $0 } == 4)
        #expect(bring(2, at: "well"))
        #expect(!bring(2, at: "well"))
        share.remove(for: Self.device(2))
        #expect(bring(2, at: "well"))
        // That is not worth a report.
        #expect(!share.isBehind)
    }

    @Test func fullHostRefusesEvenKnownDevices() {
        for device in 0..<4 { _ = bring(device, at: "hole") }
        #expect(!share.isBehind)
        #expect(!bring(0, at: "hole"))
        #expect(share.isBehind)
    }

    @Test func deliveriesTakenTogetherCountTogether() {
        let decisions = (0..<20).map { device -> QueueQuota.Decision in
            let first = share.take(Self.device(device))
            return first == .dependsOnHost ? share.take(Self.device(device), at: "hole") : first
        }
        // The first four were not looked up: no host can exceed its limit before that.
        #expect(decisions.count { $0 == .taken } == 8)
        #expect(share.take(Self.device(7)) == .refused)
        share.settle()
        #expect(share.take(Self.device(7)) == .taken)
    }

    @Test func queuedDeliveryCountsAtItsDevicesHost() {
        for device in 0..<4 { _ = bring(device, at: "former") }
        #expect(!bring(4, at: "former"))
        share.locate(Self.device(0), at: "latter")
        #expect(bring(4, at: "former"))
        share.add(for: Self.device(10))
        share.locate(Self.device(10), at: "latter")
        share.remove(for: Self.device(10))
        share.remove(for: Self.device(0))
        let latter = (20..<24).map { bring($0, at: "latter") }
        #expect(!latter.contains(false))
    }

    @Test func callersThatCanRetryGetHalf() {
        #expect(share.capacityForCallers == 8)
        share.add(6, for: Self.device(1))
        #expect(share.capacityForCallers == 2)
        share.add(6, for: Self.device(1))
        #expect(share.capacityForCallers == 0)
    }

    @Test func unknownDeliveryIsNotRemoved() {
        share.remove(for: Self.device(1))
        #expect(share.count == 0)
    }

    @Test(arguments: [1, 2, 5])
    func smallestOutboxHoldsOneDelivery(limit: Int) {
        var share = QueueQuota(of: limit)
        #expect(share.capacityForCallers == 1)
        #expect(share.take(Self.device(1)) == .taken)
    }
}
