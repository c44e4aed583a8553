import CarillonLab
import Core
import Delivery
import Push
import Testing
import TimeTestSupport

extension StatusRow {
    /// Runs the row from outbox to lab and back, and checks every column against the result.
    func check(with service: some PushService, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await StatusBench.with(service) { bench in
            var cast: [TestDevice: (device: DeviceID, place: Place)] = [:]
            for device in TestDevice.allCases { cast[device] = try bench.register(device) }
            let itself = try #require(cast[.itself])
            let others = TestDevice.allCases.filter { $0 != .itself }.compactMap { device in
                cast[device].map { (device, $0.device) }
            }
            if isProven {
                for delivery in try bench.accept(others.map { ($0.1, $0.0.app) }) {
                    let reports = try await bench.untilTheEnd(of: delivery)
                    try #require(reports.map(\.kind) == [.delivered], "\(reports)", sourceLocation: sourceLocation)
                }
            }
            bench.lab.misbehave(
                ScriptedBehavior(says, service: service.service, target: itself.place.target, times: times)
            )

            let began = bench.time.now
            let delivery = try bench.accept([(itself.device, .first)])[0]
            if says == .silence { try await bench.letDeadlinePass(ofRequestTo: itself.place.target) }
            let first = try #require(
                try await bench.reports(of: delivery, after: 0).first,
                sourceLocation: sourceLocation
            )
            #expect(first.kind == kind, "\(first)", sourceLocation: sourceLocation)
            #expect(first.reason == reason, sourceLocation: sourceLocation)
            if let status = says.status, kind != .delivered {
                #expect(first.status == UInt32(status), sourceLocation: sourceLocation)
            }
            if !first.kind.isFinal, kind != .reduced {
                let found = try await whoWaits(bench, others)
                #expect(found == expectedToWait, "held up", sourceLocation: sourceLocation)
            }

            let reports = try await bench.untilTheEnd(of: delivery)
            let last = try #require(reports.last, sourceLocation: sourceLocation)
            if let wait {
                #expect(wait.isOver(at: bench.time.now, since: began), sourceLocation: sourceLocation)
            }
            #expect(last.kind == end, "\(reports)", sourceLocation: sourceLocation)
            #expect(last.attempt == attempts, "\(reports)", sourceLocation: sourceLocation)
            #expect(reports.filter { $0.kind.isFinal }.count == 1, "\(reports)", sourceLocation: sourceLocation)
            let isKept = bench.devices.address(of: itself.device) != nil
            #expect(isKept == (fate == .stays), "the device", sourceLocation: sourceLocation)
            let seen = bench.lab.received.filter { $0.service == service.service && $0.target == itself.place.target }
            #expect(seen.count == requests, "\(seen.map(\.status))", sourceLocation: sourceLocation)
            let ids = Set(seen.compactMap(service.messageID))
            #expect(ids.isSubset(of: [delivery.description]), "one id for all attempts", sourceLocation: sourceLocation)
            #expect(bench.books.record.failures.isEmpty, sourceLocation: sourceLocation)
        }
    }

    private var expectedToWait: Set<TestDevice> {
        switch holdsUp {
        case .nobody: []
        case .host: [.neighbour]
        case .queue: [.neighbour, .stranger]
        }
    }

    /// Returns the devices that get no push while the clock stands still. Sends a push to each.
    private func whoWaits(
        _ bench: StatusBench,
        _ others: [(TestDevice, DeviceID)]
    ) async throws -> Set<TestDevice> {
        let deliveries = zip(try bench.accept(others.map { ($0.1, $0.0.app) }), others.map(\.0))
        await bench.courier.settle()
        let expected = expectedToWait
        let free = deliveries.filter { !expected.contains($0.1) }.map(\.0)
        try await bench.books.record(when: "the others have theirs") { record in
            free.allSatisfy { record.of($0).last?.kind.isFinal == true }
        }
        await bench.courier.settle()
        let record = bench.books.record
        return Set(deliveries.filter { record.of($0.0).isEmpty }.map(\.1))
    }
}

extension StatusRow.Wait {
    /// Plugins use the machine's clock, which may differ from the bench's by the duration of a row.
    private static let tolerance: Duration = .minutes(1)

    /// Whether it ends there.
    fileprivate func isOver(at now: Timestamp, since began: Timestamp) -> Bool {
        switch self {
        case .seconds(let seconds): (seconds...seconds + 1).contains((now - began).seconds)
        case .midnight: (now + Self.tolerance).milliseconds % 86_400_000 < (Self.tolerance * 2).milliseconds
        }
    }
}

extension ScriptedBehavior.Action {
    /// The recorded status; nil: no response.
    fileprivate var status: Int? {
        switch self {
        case .answer(let answer): answer.status
        case .html(let status): status
        default: nil
        }
    }
}
