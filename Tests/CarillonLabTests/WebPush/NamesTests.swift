import CarillonLab
import Testing

struct NamesTests {
    @Test func serversHaveTheNamesTheyAreGivenInTheirCertificate() async throws {
        var configuration = LabConfiguration()
        configuration.names = ["push.example.net"]
        let lab = try await Lab.start(configuration)
        let port = try #require(lab.webPushURL?.split(separator: ":").last)
        let answer = try await Curl.run(
            "--cacert",
            lab.caFile,
            "--connect-to",
            "push.example.net:443:127.0.0.1:\(port)",
            "-X",
            "POST",
            "https://push.example.net/push/unknown"
        )
        await lab.shutdown()
        #expect(answer.status == 404)
    }
}
