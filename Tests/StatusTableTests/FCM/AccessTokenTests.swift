import CarillonLab
import Delivery
import Testing

/// RFC 6749 section 5.2, and the errors of Google's token endpoint.
///
/// Later attempts depend on the machine's clock, which measures the plugin's wait before it asks the endpoint again.
struct AccessTokenTests {
    private static let rows: [StatusRow] = [
        .misconfigured(.says(400, "invalid_grant"), "invalid-grant"),
        .misconfigured(.says(401, "invalid_client"), "invalid-client"),
        .misconfigured(.says(400, "invalid_request"), "invalid-request"),
        .misconfigured(.says(400, "unauthorized_client"), "unauthorized-client"),
        .misconfigured(.says(400, "unsupported_grant_type"), "unsupported-grant-type"),
        .misconfigured(.says(400, "invalid_scope"), "invalid-scope"),
        .misconfigured(.html(status: 403), "token-refused"),
        .retry(.says(429), "token-too-many-requests", holdsUp: .queue),
        .retry(.says(500), "token-server-error", holdsUp: .queue),
        .retry(.html(status: 503), "token-server-error", holdsUp: .queue),
        .retry(.says(200, body: "{}"), "token-unreadable", holdsUp: .queue),
        .retry(.close, "closed", holdsUp: .queue),
    ]

    @Test(arguments: rows)
    func everyRefusal(_ row: StatusRow) async throws {
        try await StatusBench.with(FCM()) { bench in
            let project = try #require(FCM.projects[.first])
            bench.lab.misbehave(ScriptedBehavior(row.says, service: .oauth, target: project.clientEmail))
            let ofOtherApp = try bench.register(.ofOtherApp).device
            let before = try bench.accept([(ofOtherApp, .second)])[0]
            _ = try await bench.untilTheEnd(of: before)
            let itself = try bench.register(.itself)
            let deliveries = try bench.accept([(itself.device, .first), (ofOtherApp, .second)])
            try await bench.books.record(when: "both have answers") { record in
                deliveries.allSatisfy { !record.of($0).isEmpty }
            }
            await bench.courier.settle()
            let record = bench.books.record
            let report = try #require(record.of(deliveries[0]).first)
            #expect(report.kind == row.kind && report.reason == row.reason && report.attempt == 1, "\(report)")
            #expect(record.of(deliveries[1]).map(\.kind) == [.delivered], "of the other project")
            #expect(record.pauses.map(\.queue.app) == [App.first.rawValue])
            #expect(record.pauses.map(\.cause) == [row.kind == .misconfigured ? .misconfigured : .asked])
            #expect(bench.devices.address(of: itself.device) != nil)
            #expect(bench.lab.received.filter { $0.target == itself.place.target }.isEmpty)
        }
    }
}
