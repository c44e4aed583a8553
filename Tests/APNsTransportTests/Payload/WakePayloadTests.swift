import CarillonABI
import PluginTestSupport
import Testing

struct WakePayloadTests {
    private func payload(_ sample: SampleNotification) throws -> String {
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        return try #require(fixture.host.requests.first).bodyText
    }

    @Test func saysOnlyThatSomethingHappened() throws {
        #expect(try payload(.wake("dm")) == #"{"aps":{"content-available":1},"t":"dm"}"#)
    }

    @Test func countsABatch() throws {
        #expect(try payload(.wake("dm", count: 7)) == #"{"aps":{"content-available":1},"t":"batch","n":7}"#)
    }

    @Test func carriesNothingElseEvenWhenItIsGivenMore() throws {
        var sample = SampleNotification.alert(title: "secret", body: "secret")
        sample.mode = .CARILLON_WAKE
        sample.signal = "mention"
        sample.url = "app://secret"
        sample.data = #"{"event_id":"secret"}"#
        sample.native = #"{"badge":1}"#
        sample.actions = [.init(id: "secret", label: "secret")]
        #expect(try payload(sample) == #"{"aps":{"content-available":1},"t":"mention"}"#)
    }

    @Test func aSignalIsEscaped() throws {
        #expect(try payload(.wake("a\"b\\\n")) == #"{"aps":{"content-available":1},"t":"a\"b\\\n"}"#)
    }
}
