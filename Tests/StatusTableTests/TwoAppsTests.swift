import CarillonLab
import Delivery
import Foundation
import Push
import Testing

/// Two apps of one platform, each with its own credentials.
struct TwoAppsTests {
    /// Which of the two credentials a request shows.
    private static func team(_ request: ReceivedRequest) -> String? {
        guard let token = request.header("authorization")?.split(separator: " ").last else { return nil }
        let parts = token.split(separator: ".")
        guard parts.count == 3 else { return nil }
        var claims = String(parts[1]).replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while claims.count % 4 != 0 { claims += "=" }
        guard let data = Data(base64Encoded: claims) else { return nil }
        let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
        return object?["iss"] as? String
    }

    private func deliver(
        _ bench: StatusBench,
        _ count: Int
    ) async throws -> (first: [DeliveryReport], second: [DeliveryReport]) {
        let first = try bench.register(.itself).device
        let second = try bench.register(.ofOtherApp).device
        var deliveries: [DeliveryID] = []
        for _ in 0..<count { deliveries += try bench.accept([(first, .first), (second, .second)]) }
        let ids = deliveries
        let record = try await bench.books.record(when: "both apps have answers") { record in
            let reports = ids.map { record.of($0) }
            return !reports[0].isEmpty && reports.enumerated().allSatisfy { $0.offset % 2 == 0 || !$0.element.isEmpty }
        }
        return (
            stride(from: 0, to: ids.count, by: 2).flatMap { record.of(ids[$0]) },
            stride(from: 1, to: ids.count, by: 2).flatMap { record.of(ids[$0]) }
        )
    }

    /// Returns the number of waiting deliveries once it is at most `limit`: reports precede the disk.
    private func waiting(_ bench: StatusBench, atMost limit: Int) async throws -> Int {
        while bench.courier.waiting > limit { try await Task.sleep(for: .milliseconds(1)) }
        return bench.courier.waiting
    }

    @Test func twoTeamsOfAppleShareNoConnection() async throws {
        try await StatusBench.with(APNs()) { bench in
            let (_, second) = try await deliver(bench, 10)
            #expect(second.count == 10 && second.allSatisfy { $0.kind == .delivered && $0.attempt == 1 })
            let requests = try await bench.lab.waitFor(count: 20, timeout: .seconds(60))
            #expect(requests.filter(\.isAccepted).count == requests.count)
            let byConnection = Dictionary(grouping: requests, by: \.connection)
            #expect(byConnection.values.allSatisfy { Set($0.map(Self.team)).count == 1 })
            for (app, team) in APNs.teams {
                let own = requests.filter { $0.header("apns-topic") == team.topic }
                #expect(own.count == 10 && own.allSatisfy { Self.team($0) == team.teamID }, "\(app)")
            }
        }
    }

    @Test func teamWithABadKeyDoesNotAffectOthers() async throws {
        var service = APNs()
        service.keyOfFirst = LabCredentials()
        try await StatusBench.with(service) { bench in
            let (first, second) = try await deliver(bench, 10)
            #expect(first.first?.kind == .misconfigured && first.first?.reason == "invalid-provider-token")
            #expect(second.count == 10 && second.allSatisfy { $0.kind == .delivered && $0.attempt == 1 })
            #expect(bench.books.record.pauses.map(\.queue.app) == [App.first.rawValue])
            #expect(try await waiting(bench, atMost: 10) == 10)
        }
    }

    @Test func twoProjectsOfGoogleHaveTheirOwnAccessTokens() async throws {
        try await StatusBench.with(FCM()) { bench in
            let (_, second) = try await deliver(bench, 10)
            #expect(second.count == 10 && second.allSatisfy { $0.kind == .delivered && $0.attempt == 1 })
            try await bench.lab.waitFor(count: 20, timeout: .seconds(60)) { $0.service == .fcm && $0.isAccepted }
            let requests = bench.lab.received
            #expect(requests.filter { $0.service == .oauth }.count == 2)
            for (_, project) in FCM.projects {
                let own = requests.filter { $0.path.contains("/\(project.projectID)/") }
                #expect(own.count == 10)
                #expect(Set(own.map { $0.header("authorization") }).count == 1)
            }
        }
    }

    @Test func projectWithoutPermissionDoesNotAffectOthers() async throws {
        var service = FCM()
        service.projectOfFirst = "second-project"
        try await StatusBench.with(service) { bench in
            let (first, second) = try await deliver(bench, 10)
            #expect(first.first?.kind == .misconfigured && first.first?.reason == "permission-denied")
            #expect(second.count == 10 && second.allSatisfy { $0.kind == .delivered && $0.attempt == 1 })
            #expect(bench.books.record.pauses.map(\.queue.app) == [App.first.rawValue])
            #expect(try await waiting(bench, atMost: 10) == 10)
        }
    }
}
