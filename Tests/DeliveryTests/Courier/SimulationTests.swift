import Core
import GRDB
import Push
import RandomTestSupport
import Testing
import TimeTestSupport

@testable import Delivery

struct SimulationTests {
    private static let tight = CourierLimits(inFlight: 8, slow: 4, window: 64, inFlightPerHost: 2, stopBlockingAfter: 3)

    /// Returns success for six of ten attempts, and every other outcome for the rest.
    private func answer(_ stored: StoredDelivery, _ random: inout SeededGenerator) -> Outcome {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: Outcome(.rejected, status: 400, reason: "bad")
        case 1: Outcome(.gone, status: 410, reason: "gone")
        case 2: Outcome(.misconfigured, status: 403, reason: "token")
        case 3, 4: Outcome(.retry, status: 429, retryAfter: .milliseconds(500), reason: "slow")
        case 5, 6, 7: Outcome(.retry, status: 503, reason: "down")
        default: Outcome(.delivered, status: 200, reason: "ok")
        }
    }

    private func deliveries(_ numbers: Range<Int>, devices: Int64, _ random: inout SeededGenerator) -> [Delivery] {
        let platforms = ["ios", "android", "unifiedpush"]
        return numbers.map { number in
            let device = Int64.random(in: 0..<devices, using: &random)
            return .sample(number, device: device, platform: platforms[Int(device) % 3])
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func droppedAndExpeditedDeliveriesEndOnce(seed: UInt64) throws {
        var simulation = try Simulation(DatabaseQueue(), limits: Self.tight, seed: seed)
        simulation.hosts = seed % 2 == 0 ? 5 : 0
        var random = SeededGenerator(seed: seed + 100)
        var number = 0
        var steps = 0
        while number < 1500 || !simulation.isIdle {
            if number < 1500, Int.random(in: 0..<6, using: &random) == 0 {
                let count = min(Int.random(in: 1...40, using: &random), 1500 - number)
                try simulation.accept(deliveries(number..<number + count, devices: 200, &random))
                number += count
            }
            if number < 1500, Int.random(in: 0..<60, using: &random) == 0 { try simulation.operate() }
            try simulation.step(answer)
            steps += 1
            try #require(steps < 400_000, "\(simulation.outbox.count) deliveries never ended")
        }
        #expect(simulation.ends.count == 1500)
        #expect(simulation.ends.values.allSatisfy { $0.count == 1 })
        #expect(simulation.ends.values.joined().count { $0 == .discarded } > simulation.droppedOnDisk)
        #expect(simulation.droppedOnDisk > 0 && simulation.expedited > 0 && simulation.collisions == 0)
        #expect(
            simulation.queues.queues.allSatisfy {
                $0.devices.count == 0 && $0.devices.delayedCount == 0 && $0.paging.retrying.isEmpty
            }
        )
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func everyDeliveryEndsExactlyOnceWhateverHappens(seed: UInt64) throws {
        var simulation = try Simulation(DatabaseQueue(), limits: Self.tight, seed: seed)
        simulation.hosts = seed % 2 == 0 ? 5 : 0
        var random = SeededGenerator(seed: seed + 100)
        var number = 0
        var steps = 0
        while number < 1500 || !simulation.isIdle {
            if number < 1500, Int.random(in: 0..<6, using: &random) == 0 {
                let count = min(Int.random(in: 1...40, using: &random), 1500 - number)
                try simulation.accept(deliveries(number..<number + count, devices: 200, &random))
                number += count
            }
            try simulation.step(answer)
            steps += 1
            try #require(steps < 400_000, "\(simulation.outbox.count) deliveries never ended")
        }
        #expect(simulation.ends.count == 1500)
        #expect(simulation.ends.values.allSatisfy { $0.count == 1 })
        #expect(Set(simulation.ends.values.joined()).isSuperset(of: [.delivered, .rejected, .gone]))
        #expect(simulation.collisions == 0)
        #expect(simulation.peakInFlight <= Self.tight.inFlight + Self.tight.slow)
        #expect(simulation.peakHeld <= 64 + 2 * Self.tight.page)
        #expect(simulation.pagesRead > 20)
        #expect(
            simulation.queues.queues.allSatisfy {
                $0.devices.count == 0 && $0.devices.delayedCount == 0 && $0.paging.retrying.isEmpty
            }
        )
        #expect(simulation.queues.queues.allSatisfy { $0.devices.deviceCount == 0 && $0.inFlight == 0 })
    }

    @Test(arguments: [11, 12, 13, 14] as [UInt64])
    func crashRepeatsOnlyDeliveriesInFlight(seed: UInt64) throws {
        var simulation = try Simulation(DatabaseQueue(), limits: Self.tight, seed: seed)
        var random = SeededGenerator(seed: seed + 100)
        var number = 0
        var steps = 0
        while number < 800 || !simulation.isIdle {
            if number < 800, Int.random(in: 0..<6, using: &random) == 0 {
                try simulation.accept(deliveries(number..<number + 20, devices: 100, &random))
                number += 20
            }
            if Int.random(in: 0..<400, using: &random) == 0 { try simulation.crash() }
            try simulation.step(answer)
            steps += 1
            try #require(steps < 400_000, "\(simulation.outbox.count) deliveries never ended")
        }
        #expect(simulation.ends.count == 800)
        for (id, ends) in simulation.ends where ends.count > 1 { #expect(simulation.mayRepeat.contains(id)) }
    }

    @Test func aDevicesDeliveriesStayInOrderWhenNothingFails() throws {
        var simulation = try Simulation(DatabaseQueue(), limits: Self.tight, seed: 21)
        var random = SeededGenerator(seed: 22)
        var last: [DeviceID: Int] = [:]
        var disorder = 0
        var number = 0
        while number < 2000 || !simulation.isIdle {
            if number < 2000 {
                try simulation.accept(deliveries(number..<number + 10, devices: 30, &random))
                number += 10
            }
            try simulation.step { stored, _ in
                let device = stored.delivery.device
                if last[device, default: -1] >= stored.delivery.number { disorder += 1 }
                last[device] = stored.delivery.number
                return Outcome(.delivered, status: 200, reason: "ok")
            }
        }
        #expect(disorder == 0)
        #expect(simulation.ends.count == 2000)
    }

    @Test func everythingIsDeliveredAfterAFullOutage() throws {
        var simulation = try Simulation(DatabaseQueue(), limits: Self.tight, seed: 31)
        try simulation.accept((0..<1000).map { .sample($0, device: Int64($0)) })
        let mended = simulation.now + .hours(1)
        var steps = 0
        while !simulation.isIdle {
            let now = simulation.now
            try simulation.step { _, _ in
                now < mended ? Outcome(.retry, status: 503, reason: "down") : Outcome(.delivered, reason: "ok")
            }
            steps += 1
            try #require(steps < 1_000_000, "\(simulation.outbox.count) deliveries never ended")
        }
        #expect(simulation.ends.count == 1000)
        #expect(simulation.ends.values.allSatisfy { $0 == [.delivered] })
        #expect(simulation.peakHeld <= 64 + 2 * Self.tight.page)
    }
}
