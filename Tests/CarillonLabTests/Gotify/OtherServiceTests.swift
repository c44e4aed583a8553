import CarillonLab
import Testing

/// The service of plugins that the lab does not know.
struct OtherServiceTests {
    @Test func requestsAreAcceptedByDefault() async throws {
        var configuration = LabConfiguration()
        configuration.otherPort = 0
        let lab = try await Lab.start(configuration)
        let url = try #require(lab.addresses.other)
        let host = ["-H", "x-forwarded-host: pager.example.com"]
        let first = try await Curl.run([[url + "/a/b?c=d", "-d", "one"] + host, [url, "-X", "DELETE"]])
        #expect(first.map(\.status) == [200, 200])
        lab.misbehave(
            ScriptedBehavior(
                .answer(status: 429, retryAfter: 9),
                service: .other,
                target: "pager.example.com",
                times: 1
            ),
            ScriptedBehavior(.answer(status: 410, body: "gone"), service: .other)
        )
        let second = try await Curl.run([[url, "-d", "two"], [url, "-d", "three"] + host])
        #expect(second.map(\.status) == [410, 429])
        #expect(second[1].headers["retry-after"] == "9")
        let received = lab.received
        #expect(received.allSatisfy { $0.service == .other })
        #expect(received.map(\.target) == ["pager.example.com", "", "", "pager.example.com"])
        #expect(received.map(\.path) == ["/a/b?c=d", "/", "/", "/"])
        #expect(received.map(\.method) == ["POST", "DELETE", "POST", "POST"])
        #expect(received.map { String(decoding: $0.body, as: UTF8.self) } == ["one", "", "two", "three"])
        await lab.shutdown()
    }
}
