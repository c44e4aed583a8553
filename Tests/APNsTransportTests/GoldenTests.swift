import CarillonABI
import Foundation
import PluginTestSupport
import Testing

struct GoldenTests {
    @Test(arguments: Golden.all) func theSeedsPayloadIsReproduced(_ golden: Golden) throws {
        let fixture = try TransportFixture()
        let registration = SampleRegistration(token: TransportFixture.deviceToken, fields: golden.fields)
        #expect(try fixture.deliver(golden.notification, to: registration) == .CARILLON_OK)
        let request = try #require(fixture.host.requests.first, "\(fixture.host.outcomes)")
        let made = try JSONSerialization.jsonObject(with: Data(request.body))
        #expect(try Golden.canonical(made) == golden.payload)
        for (name, value) in golden.headers {
            #expect(request.headers[name] == value, "\(name)")
        }
    }

    @Test(arguments: [("seed-000", 9), ("seed-002", 15), ("seed-003", 26)])
    func everyFileIsReadWhole(_ name: String, _ count: Int) throws {
        #expect(try Golden.read(name).count == count)
    }

    @Test func theComparisonTellsTrueFromOne() throws {
        let read = { (text: String) in try Golden.canonical(JSONSerialization.jsonObject(with: Data(text.utf8))) }
        #expect(try read(#"{"a":true}"#) != read(#"{"a":1}"#))
        #expect(try read(#"{"a":1,"b":"/"}"#) == read(#"{ "b": "\/", "a": 1 }"#))
    }
}
