import CarillonABI
import Core
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import APNsTransport

/// The operator's commands for broadcast channels.
struct ChannelCommandTests {
    private static let id = BroadcastTests.channel
    private static let app = "/1/apps/com.example.app"
    private static let production = "https://api-manage-broadcast.push.apple.com:2196"
    private static let sandbox = "https://api-manage-broadcast.sandbox.push.apple.com:2195"

    private let fixture: TransportFixture
    private let answers = Heard<CommandAnswer>()

    init() throws {
        fixture = try TransportFixture()
    }

    @discardableResult
    private func run(_ words: String...) -> Acceptance {
        fixture.transport.command(words) { [answers] in answers.add($0) }
    }

    @Test func makesAChannel() throws {
        run("channels", "create", "--storage", "latest")
        let request = try #require(fixture.host.requests.first)
        #expect(request.method == "POST")
        #expect(request.url == Self.production + Self.app + "/channels")
        #expect(request.bodyText == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
        #expect(request.headers["authorization"]?.hasPrefix("bearer ") == true)
        #expect(request.headers["apns-topic"] == nil)
        fixture.host.answer(0, status: 201, headers: ["apns-channel-id": Self.id])
        #expect(answers.all == [CommandAnswer(isGood: true, text: Self.id)])
        run("channels", "create")
        #expect(fixture.host.requests.last?.bodyText == #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#)
        fixture.host.answer(1, status: 201, headers: ["apns-channel-id": "no base64"])
        #expect(answers.all.last?.isGood == false)
    }

    @Test func listsChannels() throws {
        run("channels", "list")
        let request = try #require(fixture.host.requests.first)
        #expect(request.method == "GET")
        #expect(request.url == Self.production + Self.app + "/all-channels")
        fixture.host.answer(0, status: 200, body: #"{"channels":["YQ==","Yg=="]}"#)
        #expect(answers.all == [CommandAnswer(isGood: true, text: "YQ==\nYg==")])
        run("channels", "list")
        fixture.host.answer(1, status: 200, body: #"{"channels":[]}"#)
        run("channels", "list")
        fixture.host.answer(2, status: 200, body: "<html>")
        #expect(answers.all.map(\.isGood) == [true, true, false])
        #expect(answers.all[1].text == "")
    }

    @Test(arguments: [("0", "storage: none"), ("1", "storage: latest"), ("7", nil)] as [(String, String?)])
    func showsAChannel(_ policy: String, _ text: String?) throws {
        run("channels", "show", "channel:" + Self.id)
        let request = try #require(fixture.host.requests.first)
        #expect(request.method == "GET")
        #expect(request.url == Self.production + Self.app + "/channels")
        #expect(request.headers["apns-channel-id"] == Self.id)
        fixture.host.answer(0, status: 200, body: #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#)
        #expect(answers.all.first?.isGood == (text != nil))
        if let text { #expect(answers.all.first?.text == text) }
    }

    @Test func deletesAChannel() throws {
        run("channels", "delete", Self.id, "--environment", "sandbox")
        let request = try #require(fixture.host.requests.first)
        #expect(request.method == "DELETE")
        #expect(request.url == Self.sandbox + Self.app + "/channels")
        #expect(request.headers["apns-channel-id"] == Self.id)
        fixture.host.answer(0, status: 204)
        #expect(answers.all == [CommandAnswer(isGood: true, text: "deleted")])
    }

    @Test func sendsToAChannel() throws {
        let payload = #"{"aps": {"event":"end","timestamp":1}}"#
        run("channels", "send", Self.id, #"{"aps":"#, #"{"event":"end","timestamp":1}}"#)
        let request = try #require(fixture.host.requests.first)
        #expect(request.url == "https://api.push.apple.com/4/broadcasts/apps/com.example.app")
        #expect(request.bodyText == payload)
        #expect(request.headers["apns-channel-id"] == Self.id)
        #expect(request.headers["apns-push-type"] == "liveactivity")
        #expect(request.headers["apns-expiration"] == "0")
        #expect(request.headers["apns-priority"] == "10")
        fixture.accept()
        #expect(answers.all == [CommandAnswer(isGood: true, text: "sent")])
    }

    @Test(arguments: [
        [], ["make"], ["create", "x"], ["create", "--storage"], ["create", "--storage", "all"], ["show"],
        ["show", "no base64"], ["show", BroadcastTests.channel, "x"], ["list", "--storage", "none"],
        ["list", "--environment", "lab"], ["send", BroadcastTests.channel], ["send", BroadcastTests.channel, "{}"],
        ["send", BroadcastTests.channel, #"{"aps":{"event":"start"}}"#],
        ["send", BroadcastTests.channel, #"{"aps":{"event":"end"},"x":"\#(String(repeating: "x", count: 5120))"}"#],
    ])
    func errorNamesTheExpectedArguments(_ words: [String]) {
        let admission = fixture.transport.command(["channels"] + words) { [answers] in answers.add($0) }
        #expect(admission.status == .CARILLON_OK)
        #expect(fixture.host.requests.isEmpty)
        #expect(answers.all.map(\.isGood) == [false])
        #expect(answers.all.first?.text.contains("expected") == true)
    }

    @Test func helpListsEveryCommandAndOthersAreUnknown() {
        #expect(run("help").status == .CARILLON_OK)
        for verb in ["create", "list", "show", "delete", "send"] {
            #expect(answers.all.first?.text.contains("channels \(verb)") == true)
        }
        #expect(run("chanels").status == .CARILLON_UNSUPPORTED)
        #expect(run().status == .CARILLON_UNSUPPORTED)
        #expect(answers.all.count == 1)
    }

    @Test(
        arguments: [
            (400, "FeatureNotEnabled", "APNs refused it: FeatureNotEnabled, broadcasts are not enabled for this app"),
            (400, "ChannelNotRegistered", "APNs refused it: ChannelNotRegistered, there is no such channel"),
            (400, "BadRequestParams", "APNs refused it: BadRequestParams"),
            (400, "Secret", "APNs refused it with status 400"),
            (503, "", "APNs refused it with status 503"), (0, "", "APNs did not respond: no-answer"),
        ] as [(UInt32, String, String)]
    )
    func failedCommandNamesItsReason(_ status: UInt32, _ reason: String, _ text: String) {
        run("channels", "list")
        fixture.refuse(status, reason)
        #expect(answers.all.first?.isGood == false)
        #expect(answers.all.first?.text.hasPrefix(text) == true)
    }

    @Test func anExpiredTokenIsRenewedForTheNextTime() {
        run("channels", "list")
        fixture.clock.advance(by: .minutes(30))
        fixture.refuse(403, "ExpiredProviderToken")
        #expect(answers.all.first?.text == "APNs refused it: ExpiredProviderToken, try again")
        run("channels", "list")
        #expect(Set(fixture.host.requests.map { $0.headers["authorization"] }).count == 2)
    }

    @Test func labUsesItsOwnAddress() throws {
        let fixture = try TransportFixture(["broadcast_management": "https://lab:3"])
        _ = fixture.transport.command(["channels", "list"]) { _ in }
        #expect(fixture.host.requests.first?.url == "https://lab:3" + Self.app + "/all-channels")
    }
}
