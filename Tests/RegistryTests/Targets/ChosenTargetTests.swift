import Core
import Foundation
import GRDB
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

/// Targets that people choose, which others can guess.
struct ChosenTargetTests {
    private let bench: Bench
    private let topic = "https://ntfy.sh/alerts"

    init() throws {
        bench = try Bench()
    }

    @discardableResult
    private func register(
        _ account: UInt8,
        at seconds: Int64,
        _ content: String? = nil,
        code: String? = nil,
        device: String? = nil
    ) throws -> RegistrationResult {
        let further = code.map { #","code":"\#($0)""# } ?? ""
        let event = try bench.event(
            of: account,
            content ?? Samples.topic(topic, further: further),
            at: seconds,
            device: device,
            id: UInt8(truncatingIfNeeded: seconds)
        )
        bench.clock.time = max(bench.clock.time, Timestamp(seconds: event.createdAt))
        return try bench.registry.apply(event)
    }

    @Test func guessedTopicStaysWithItsOwner() throws {
        var live = try bench.registry.load()
        try register(1, at: 1)
        let claimed = try register(2, at: 2)
        let free = try register(3, at: 3, Samples.topic("https://ntfy.sh/nobodys"))
        // The responses do not show whether the topic was in use.
        bench.registry.update(&live)
        #expect(try bench.devices(of: 1, in: live).count == 1 && bench.devices(of: 2, in: live) == [])
        #expect(claimed.isAccepted && claimed.message == free.message && claimed.isChange == free.isChange)
        #expect(try bench.tokens(of: 1) == [topic] && bench.tokens(of: 2) == [])
        #expect(try bench.registry.storedEvents(of: bench.key(2)).count == 1)
        #expect(try register(2, at: 4).message == register(3, at: 5, Samples.topic("https://ntfy.sh/nobodys")).message)
        #expect(try bench.tokens(of: 1) == [topic] && bench.tokens(of: 2) == [])
        let listings = try bench.registry.devices()
        #expect(listings.map(\.waitsForCode) == [false, true, false])
        // Leaving is answered as ever.
        #expect(try bench.registry.apply(bench.event(of: 2, "", at: 9)) == .deregistered)
        #expect(try bench.tokens(of: 1) == [topic])
    }

    @Test func codeReadAtTheTargetMovesIt() throws {
        try register(1, at: 1)
        try register(2, at: 2)
        let owner = try #require(try bench.registry.devices(of: bench.key(1)).first)
        let request = try #require(bench.codes.all.first)
        // The code is sent to the device that owns the target, over that device's route.
        #expect(bench.codes.all.count == 1 && request.device == owner.device && request.route == owner.route)
        #expect(!"\(request)".contains(request.code.text))
        for wrong in ["", "00000-00000", String(request.code.text.dropLast())] where wrong != request.code.text {
            _ = try register(2, at: 3 + Int64(wrong.utf8.count), code: wrong)
            #expect(try bench.tokens(of: 1) == [topic] && bench.tokens(of: 2) == [])
        }
        let typed = request.code.text.lowercased().replacing("-", with: " ").replacing("0", with: "o")
        #expect(try register(2, at: 60, code: typed).isAccepted)
        #expect(try bench.tokens(of: 1) == [] && bench.tokens(of: 2) == [topic])
        // From then on it belongs to the other account, which no longer needs a code.
        try register(2, at: 61)
        try register(1, at: 62)
        #expect(try bench.tokens(of: 1) == [] && bench.tokens(of: 2) == [topic])
    }

    @Test func codeIsValidForOneTargetForUpToTwoDays() throws {
        try register(1, at: 1)
        try register(1, at: 2, Samples.topic("https://ntfy.sh/other"), device: "other")
        try register(2, at: 3)
        let request = try #require(bench.codes.all.first)
        let day: Int64 = 86_400
        #expect(request.expiresAt == Bench.time(2 * day))
        let elsewhere = Samples.topic("https://ntfy.sh/other", further: #","code":"\#(request.code.text)""#)
        try register(2, at: 4, elsewhere, device: "other")
        #expect(try bench.tokens(of: 2) == [])
        try register(3, at: 2 * day - 1, code: request.code.text)
        #expect(try bench.tokens(of: 1) == ["https://ntfy.sh/other"] && bench.tokens(of: 3) == [topic])
        try register(2, at: 2 * day, code: request.code.text)
        #expect(try bench.tokens(of: 2) == [] && bench.tokens(of: 3) == [topic])
    }

    @Test func codesPerTargetAreLimited() throws {
        try register(1, at: 1)
        for account in UInt8(2)...20 { try register(account, at: Int64(account)) }
        // A device that deregisters and registers again is the same device.
        #expect(try bench.registry.apply(bench.event(of: 2, "", at: 30)) == .deregistered)
        try register(2, at: 31)
        try register(1, at: 32)
        try register(2, at: 33)
        #expect(bench.codes.all.count == 1)
        try register(2, at: 3_700)
        #expect(bench.codes.all.count == 2)
        #expect(Set(bench.codes.all.map(\.code)).count == 1)
    }

    @Test func abandonedTargetIsFreeForTheNext() throws {
        try register(1, at: 1)
        try register(2, at: 2)
        try register(1, at: 3, Samples.topic("https://ntfy.sh/other"))
        #expect(try bench.tokens(of: 2) == [])
        try register(2, at: 4)
        #expect(try bench.tokens(of: 2) == [topic])
        #expect(try bench.registry.apply(bench.event(of: 2, "", at: 5)) == .deregistered)
        try register(3, at: 6)
        #expect(try bench.tokens(of: 3) == [topic])
    }

    @Test func accountMovesItsOwnTargetsFreely() throws {
        try register(1, at: 1)
        try register(1, at: 2, device: "tablet")
        #expect(try bench.tokens(of: 1) == [topic])
        try register(1, at: 3)
        #expect(try bench.tokens(of: 1) == [topic] && bench.codes.all.isEmpty)
    }

    @Test func sharingTakesACodeToo() throws {
        let shared = #","shared":true"#
        try register(1, at: 1, Samples.topic(further: shared))
        try register(2, at: 2, Samples.topic(further: shared))
        #expect(try bench.tokens(of: 2) == [])
        let code = try #require(bench.codes.all.first?.code.text)
        try register(2, at: 3, Samples.topic(further: shared + #","code":"\#(code)""#))
        #expect(try bench.tokens(of: 1) == [topic] && bench.tokens(of: 2) == [topic])
        // An account that shares the target takes it from no other account.
        try register(2, at: 4)
        try register(1, at: 5)
        #expect(try bench.tokens(of: 1) == [topic] && bench.tokens(of: 2) == [topic])
    }

    @Test(arguments: ["http://ntfy.sh/alerts", "https://NTFY.sh/alerts", "https://ntfy.sh:443/alerts"])
    func targetSpellingsAreEquivalent(url: String) throws {
        try register(1, at: 1)
        try register(2, at: 2, Samples.topic(url))
        #expect(try bench.tokens(of: 2) == [] && bench.codes.all.count == 1)
    }

    @Test(arguments: ["https://ntfy.sh/Alerts", "https://ntfy.sh:8443/alerts", "https://ntfy.sh.example/alerts"])
    func differentTargetsAreDistinct(url: String) throws {
        try register(1, at: 1)
        try register(2, at: 2, Samples.topic(url))
        #expect(try bench.tokens(of: 2) == [url])
    }

    @Test func gotifyApplicationIsAChosenTarget() throws {
        let application = Samples.topic("https://gotify.example.com/message?token=Abc", platform: "gotify")
        try register(1, at: 1, application)
        try register(2, at: 2, application)
        #expect(try bench.tokens(of: 2) == [] && bench.codes.all.count == 1)
    }

    @Test func otherPlatformCannotTakeTheTarget() throws {
        try register(1, at: 1)
        try register(2, at: 2, Samples.topic(topic, platform: "unifiedpush"))
        #expect(try bench.tokens(of: 1) == [topic])
        // An endpoint from a distributor can move as usual.
        try register(3, at: 3, Samples.topic("https://ntfy.sh/upAbC?up=1", platform: "unifiedpush"))
        try register(4, at: 4, Samples.topic("https://ntfy.sh/upAbC?up=1", platform: "unifiedpush"))
        #expect(try bench.tokens(of: 3) == [] && bench.tokens(of: 4) == ["https://ntfy.sh/upAbC?up=1"])
    }

    @Test func aCodeMovesATargetWithinItsAppOnly() throws {
        let inApp = { (code: String) in Samples.topic(further: #","app":"b"\#(code)"#) }
        try register(1, at: 1)
        try register(2, at: 2, inApp(""))
        #expect(try bench.tokens(of: 2) == [], "another app needs the code as well")
        let code = try #require(bench.codes.all.first?.code.text)
        try register(2, at: 3, inApp(#","code":"\#(code)""#))
        #expect(try bench.tokens(of: 1) == [topic] && bench.tokens(of: 2) == [topic])
        try register(2, at: 4, Samples.topic(further: #","code":"\#(code)""#))
        #expect(try bench.tokens(of: 1) == [] && bench.tokens(of: 2) == [topic])
    }

    /// A push on its way to a device must not end at another account's target.
    @Test func deviceThatClaimsAnothersTargetIsANewDevice() throws {
        try register(1, at: 1)
        try register(2, at: 2, Samples.topic("https://ntfy.sh/own"))
        let device = try #require(try bench.registry.devices(of: bench.key(2)).first?.device)
        try register(2, at: 3)
        #expect(try bench.registry.address(of: device) == nil)
        #expect(try bench.registry.devices(of: bench.key(2)).map(\.waitsForCode) == [true])
        let code = try #require(bench.codes.all.first?.code.text)
        try register(2, at: 4, code: code)
        #expect(try bench.tokens(of: 2) == [topic])
    }

    @Test func codeIsNotPassedToTheTransport() throws {
        let content = try RegistrationContent(
            Samples.topic(further: #","code":"x","access_token":"t"}"#.dropLast().description)
        )
        #expect(content.code == "x" && content.fields == ["access_token": "t"])
        let other = try RegistrationContent(Samples.phone("t", further: #","code":"x""#))
        #expect(other.code == nil && other.fields == ["code": "x"])
        #expect(throws: RegistrationError.self) {
            try RegistrationContent(Samples.topic(further: #","code":1"#))
        }
    }

    @Test func aTargetFromBeforeThePluginDeclaredChosenTargetsIsKept() throws {
        try register(1, at: 1)
        let queue = try DatabaseQueue(path: bench.path)
        try queue.write { database in
            try database.execute(sql: "DELETE FROM chosen_targets; DELETE FROM meta WHERE name LIKE 'chosen targets%'")
        }
        try queue.close()
        try bench.reopen()
        try register(2, at: 2)
        #expect(try bench.tokens(of: 1) == [topic] && bench.tokens(of: 2) == [])
    }
}
