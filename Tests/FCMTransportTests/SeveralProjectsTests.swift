import CarillonABI
import Core
import Foundation
import PluginTestSupport
import Testing
import TimeTestSupport

/// Two apps, each with its own project.
struct SeveralProjectsTests {
    private let first: TransportFixture
    private let second: TransportFixture

    init() throws {
        first = try TransportFixture()
        second = try TransportFixture(["project_id": "other-5678"])
    }

    @Test func projectsHaveSeparateTokensAndErrors() throws {
        try first.deliver()
        try second.deliver()
        first.grant("of-the-first")
        second.host.answer(0, status: 400, body: #"{"error":"invalid_grant"}"#)
        #expect(first.host.requests.last?.url == TransportFixture.sendURL)
        #expect(first.host.requests.last?.headers["authorization"] == "Bearer of-the-first")
        #expect(second.host.outcomes.map(\.reason) == ["invalid-grant"])
        second.clock.advance(by: .seconds(1))
        try second.deliver()
        second.grant("of-the-second", at: 1)
        #expect(second.host.requests.last?.url == "https://fcm.googleapis.com/v1/projects/other-5678/messages:send")
        #expect(second.host.requests.last?.headers["authorization"] == "Bearer of-the-second")
        first.host.answer(1, status: 200, body: "{}")
        #expect(first.host.outcomes.map(\.kind) == [.CARILLON_DELIVERED])
    }
}
