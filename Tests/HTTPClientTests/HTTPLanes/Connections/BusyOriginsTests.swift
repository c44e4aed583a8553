import Core
import Testing
import TimeTestSupport

@testable import HTTPClient

@Suite struct BusyOriginsTests {
    private func origin(_ name: String = "push.example.com") throws -> Origin {
        try #require(Origin(host: name, port: 443))
    }

    @Test func anOriginIsBusyFromTheThirdRequestOn() throws {
        var origins = BusyOrigins()
        let origin = try origin()
        #expect([10, 20, 29_000, 29_500].map { origins.note(origin, now: $0) } == [false, false, true, true])
        #expect(origins.note(try self.origin("other.example.com"), now: 29_600) == false)
    }

    /// Half a minute later it is still busy; after another one without requests it is not.
    @Test func itStaysBusyForAPeriod() throws {
        var origins = BusyOrigins()
        let (origin, other) = (try origin(), try self.origin("other.example.com"))
        for _ in 1...3 { _ = origins.note(origin, now: 10) }
        #expect(origins.note(origin, now: 31_000) == true)
        #expect(origins.note(other, now: 62_000) == false)
        #expect(origins.note(origin, now: 62_001) == false)
    }

    @Test func requestsBeforeAPauseDoNotCount() throws {
        var origins = BusyOrigins()
        let origin = try origin()
        for _ in 1...3 { _ = origins.note(origin, now: 10) }
        #expect(origins.note(origin, now: 1_000_000) == false)
    }

    /// Users choose origins: beyond the limit new ones are left to libcurl, and known ones still count.
    @Test func busyOriginsAreLimited() throws {
        var origins = BusyOrigins(often: 2, limit: 3)
        let known = try (1...3).map { try origin("\($0).example.com") }
        for origin in known { #expect(origins.note(origin, now: 10) == false) }
        let late = try origin("late.example.com")
        #expect([11, 12, 13].map { origins.note(late, now: $0) } == [false, false, false])
        for origin in known { #expect(origins.note(origin, now: 14) == true) }
    }
}
