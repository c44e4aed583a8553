import CarillonABI
import Cipher
import PluginKit
import PluginTestSupport
import Testing

@testable import WebhookTransport

/// Several messages in one request, if the operator allows it.
struct BatchTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let app = #"{"url":"https://api.example.com/push","secrets":["\#(secret)"],"batch":3}"#

    private func parcels(_ tokens: String...) -> [(sample: SampleNotification, token: String)] {
        tokens.enumerated().map { index, token in
            var sample = SampleNotification.alert(title: "number \(index + 1)", body: "hello")
            sample.id = "00000000-0000-4000-8000-00000000000\(index + 1)"
            return (sample, token)
        }
    }

    private func titles(_ request: RecordedRequest) throws -> [String] {
        let whole = try JSONObject(parsing: "{\"all\":\(request.bodyText)}")
        return (whole["all"]?.elements ?? []).map { $0.object?["title"]?.string ?? "none" }
    }

    @Test func messagesToOneURLAreOneArrayWithOneSignature() throws {
        let fixture = try TransportFixture(configuration: Self.app)
        #expect(try fixture.deliverMany(parcels("a", "b", "https://hooks.example.com/x", "c")) == .CARILLON_OK)
        let requests = fixture.host.requests
        #expect(requests.map(\.url) == ["https://api.example.com/push", "https://hooks.example.com/x"])
        #expect(try requests.map(titles) == [["number 1", "number 2", "number 4"], ["number 3"]])
        #expect(requests[0].bodyText.contains(#""recipient":"b""#))
        let (id, time) = (requests[0].headers["webhook-id"] ?? "", requests[0].headers["webhook-timestamp"] ?? "")
        let key = try #require(Base64.decode(String(Self.secret.dropFirst(6))))
        let code = HMACSHA256.authenticationCode(for: Array("\(id).\(time).".utf8) + requests[0].body, key: key)
        #expect(requests[0].headers["webhook-signature"] == "v1," + Base64.encode(code))
        #expect(requests[1].headers["webhook-signature"] == nil)
        #expect(requests[1].headers["webhook-id"] == "00000000-0000-4000-8000-000000000003")
        fixture.host.answer(0, status: 200)
        fixture.host.answer(1, status: 503)
        #expect(fixture.host.outcomes.map(\.ticket) == [1, 2, 4, 3])
        #expect(
            fixture.host.outcomes.map(\.kind) == [
                .CARILLON_DELIVERED, .CARILLON_DELIVERED, .CARILLON_DELIVERED, .CARILLON_RETRY,
            ]
        )
    }

    @Test func theSameMessagesHaveTheSameID() throws {
        var ids: [String?] = []
        for tokens in [["a", "b"], ["a", "b"], ["a", "b", "c"]] {
            let fixture = try TransportFixture(configuration: Self.app)
            let all = parcels("a", "b", "c").prefix(tokens.count)
            #expect(try fixture.deliverMany(Array(all)) == .CARILLON_OK)
            ids.append(fixture.host.requests.first?.headers["webhook-id"])
        }
        #expect(ids[0] == ids[1] && ids[1] != ids[2] && ids[0]?.count == 64)
    }

    @Test func batchStaysWithinTheConfiguredSize() throws {
        let fixture = try TransportFixture(configuration: Self.app)
        #expect(try fixture.deliverMany(parcels("a", "b", "c", "d", "e")) == .CARILLON_OK)
        #expect(try fixture.host.requests.map { try titles($0).count } == [3, 2])
    }

    @Test func singleMessageIsAnArrayToo() throws {
        let fixture = try TransportFixture(configuration: Self.app)
        let (sample, token) = parcels("a")[0]
        #expect(try fixture.deliver(sample, to: SampleRegistration(token: token)) == .CARILLON_OK)
        let request = try #require(fixture.host.requests.first)
        #expect(try titles(request) == ["number 1"])
        #expect(request.headers["webhook-id"] == sample.id)
    }

    @Test func messagesAreSentSeparatelyWithoutTheKey() throws {
        let fixture = try TransportFixture()
        #expect(try fixture.deliverMany(parcels("https://a.example/", "https://a.example/")) == .CARILLON_UNSUPPORTED)
        #expect(fixture.host.requests.isEmpty && fixture.host.outcomes.isEmpty)
    }

    /// The invalid delivery gets its own error from `deliver`.
    @Test func unsendableMessageSplitsTheBatch() throws {
        let fixture = try TransportFixture(configuration: Self.app)
        var parcels = parcels("a", "b", "c")
        parcels[1].token = ""
        #expect(try fixture.deliverMany(parcels) == .CARILLON_UNSUPPORTED)
        parcels = self.parcels("a", "b", "c")
        parcels[2].sample.mode = .CARILLON_SEALED
        #expect(try fixture.deliverMany(parcels) == .CARILLON_UNSUPPORTED)
        #expect(fixture.host.requests.isEmpty && fixture.host.outcomes.isEmpty)
    }

    @Test(arguments: [400, 410, 413, 422] as [UInt32])
    func batchRefusedByTheReceiverIsSentOneByOne(_ status: UInt32) throws {
        let fixture = try TransportFixture(configuration: Self.app)
        #expect(try fixture.deliverMany(parcels("a", "b")) == .CARILLON_OK)
        fixture.host.answer(0, status: status)
        #expect(fixture.host.outcomes.isEmpty)
        #expect(try fixture.host.requests.dropFirst().map(titles) == [["number 1"], ["number 2"]])
        fixture.host.answer(1, status: 200)
        fixture.host.answer(2, status: status)
        #expect(fixture.host.outcomes.map(\.ticket) == [1, 2])
        #expect(fixture.host.outcomes.map(\.status) == [200, status])
        #expect(fixture.host.outcomes[0].kind == .CARILLON_DELIVERED)
        #expect(fixture.host.outcomes[1].kind != .CARILLON_DELIVERED)
    }

    @Test func busyHostIsRetried() throws {
        let fixture = try TransportFixture(configuration: Self.app)
        fixture.host.setAdmission(.CARILLON_BUSY)
        #expect(try fixture.deliverMany(parcels("a", "b")) == .CARILLON_OK)
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_RETRY, .CARILLON_RETRY])
    }

    @Test(arguments: ["1", "51", "\"3\""])
    func refusesOtherSizes(_ size: String) {
        let mistake = #expect(throws: PluginError.self) {
            try TransportFixture(configuration: #"{"url":"https://a.example/","batch":\#(size)}"#)
        }
        #expect(mistake?.description.hasPrefix("batch: ") == true)
    }
}
