import Core
import Delivery
import Foundation
import Operations
import Push
import Testing
import TimeTestSupport

@testable import Cluster

/// The conversion of a router's outbox when its store becomes a cluster.
@Suite final class PartitionedOutboxTests {
    private static let noon: Timestamp = 1_773_446_400_000

    private let folder = NSTemporaryDirectory() + "carillon-partitioned-" + UUID().uuidString
    private let outbox: Outbox

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        outbox = try Outbox(path: folder + "/outbox.sqlite")
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Devices 10, 11 and 12 are in the partitions 0, 1 and 2. All other devices are unregistered.
    private func parts(atOnce: Int = 100) -> PartitionedOutbox {
        var limits = PartitionState.Limits()
        limits.causes = 2
        let partitions = Dictionary(uniqueKeysWithValues: (0..<3).map { (DeviceID(rawValue: Int64($0) + 10), $0) })
        return PartitionedOutbox(outbox, partitions, of: 4, limits: limits, atOnce: atOnce)
    }

    private func fill(_ devices: [Int64], causes: [[UInt8]] = []) throws {
        let deliveries = devices.map { device in
            Delivery(
                id: DeliveryIDs.fresh(),
                device: DeviceID(rawValue: device),
                platform: "ios",
                app: "default",
                notification: .wake(.mention, urgency: .normal),
                acceptedAt: Self.noon
            )
        }
        var pace = PaceChanges()
        pace.rows = [PaceRow(device: DeviceID(rawValue: 11), pushedAt: Self.noon)]
        try outbox.insert(deliveries, causes: causes, pace: pace) { _ in }
    }

    @Test func partitionsThatFitIntoMemoryGoTogether() throws {
        try fill([10, 10, 11, 12, 12, 12, 99])
        #expect(try parts().groups().groups == [0..<4])
        #expect(try parts(atOnce: 3).groups().groups == [0..<2, 2..<4])
        // A delivery over the limit forms a separate group.
        #expect(try parts(atOnce: 1).groups().groups == [0..<1, 1..<2, 2..<3, 3..<4])
    }

    @Test func deliveryForAnUnregisteredDeviceIsOmitted() throws {
        try fill([10, 98, 99])
        let parts = parts()
        #expect(try parts.groups().leftOut == 2)
        let states = try parts.states(of: 0..<4)
        #expect(states.mapValues(\.waiting.count) == [0: 1, 1: 0, 2: 0, 3: 0])
    }

    @Test func groupHoldsOnlyItsOwnPartitions() throws {
        try fill([10, 11, 11, 12])
        let states = try parts().states(of: 1..<3)
        #expect(states.mapValues(\.waiting.count) == [1: 2, 2: 1])
        #expect(states.mapValues { $0.storedPaces.rows.count } == [1: 1, 2: 0])
    }

    @Test func eachPartitionRemembersTheNewestCauses() throws {
        let causes = (1...3).map { [UInt8](repeating: $0, count: 32) }
        for cause in causes { try fill([10], causes: [cause]) }
        let states = try parts().states(of: 0..<4)
        for state in states.values { #expect(state.knownCauses == Array(causes.suffix(2))) }
        #expect(states.count == 4)
    }
}
