import Core
import HTTPClient
import Push
import Testing
import TimeTestSupport

@testable import PluginHost

/// Connection words of requests, and certificates that belong to them.
@Suite(.timeLimit(.minutes(1)))
struct ConnectionTests {
    private let http = ScopedHTTP()

    private func bench(doing behaviour: String) throws -> Bench { try Bench(doing: behaviour, http: http) }

    private func request(on word: String, _ bench: Bench) async {
        var notification = Notification.greeting
        notification.body = word
        #expect(await bench.outcome(of: notification).reason == "answered")
    }

    private func present(_ certificate: String, _ key: String, on word: String, _ bench: Bench) async -> String {
        var notification = Notification.greeting
        (notification.title, notification.subtitle, notification.body) = (certificate, key, word)
        return await bench.outcome(of: notification).reason
    }

    @Test func connectionLabelSelectsTheSameConnections() async throws {
        let bench = try bench(doing: "request-on")
        for word in ["one", "two", "one", "", "two"] { await request(on: word, bench) }
        let scopes = http.scopes
        #expect(scopes.map { $0?.word } == ["one", "two", "one", nil, "two"])
        #expect(scopes[0] == scopes[2])
        #expect(scopes[1] == scopes[4])
        #expect(scopes[0] != scopes[1])
        #expect(http.retired.isEmpty)
    }

    @Test func requestsOfOlderPluginsShareConnections() async throws {
        let bench = try bench(doing: "older-request")
        await request(on: "word", bench)
        #expect(http.scopes == [nil])
    }

    @Test func connectionLabelsArePerInstance() async throws {
        let one = try bench(doing: "request-on")
        let other = try bench(doing: "request-on")
        await request(on: "word", one)
        await request(on: "word", other)
        #expect(http.scopes[0] != http.scopes[1])
    }

    @Test func leastRecentlyUsedLabelIsEvicted() async throws {
        let bench = try bench(doing: "request-on")
        for number in 0..<64 { await request(on: "\(number)", bench) }
        await request(on: "0", bench)
        #expect(http.retired.isEmpty)
        await request(on: "64", bench)
        #expect(http.retired.map(\.word) == ["1"])
        await request(on: "1", bench)
        #expect(http.retired.map(\.word) == ["1", "2"])
        #expect(http.scopes.last != http.scopes[1])
    }

    @Test func remainingConnectionsAreRetiredWithTheInstance() async throws {
        let bench = try bench(doing: "request-on")
        for word in ["one", "two"] { await request(on: word, bench) }
        #expect(await bench.host.retire(bench.instance, within: .minutes(1)))
        #expect(Set(http.retired.map(\.word)) == ["one", "two"])
    }

    @Test func certificateAppliesToNewConnectionsOfItsLabel() async throws {
        let bench = try bench(doing: "present")
        let pair = try KeyPair(in: bench.workshop)
        #expect(await present(pair.certificate, pair.key, on: "word", bench) == "presented")
        #expect(bench.log.said == ["present 0: "])
        #expect(http.retired.isEmpty)
        // The previous certificate is no longer needed.
        #expect(await present(pair.certificate, pair.key, on: "word", bench) == "presented")
        #expect(http.retired.map(\.word) == ["word"])
        #expect(http.retired.first?.clientCertificate != nil)
    }

    @Test(arguments: [
        ("", "key", "word", "certificates: expected PEM, starting with the client's certificate"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "key", "word", "certificates: expected"),
        ("its own", "secret", "word", "key: expected an unencrypted private key in PEM"),
        ("its own", "another", "word", "key: expected the private key of the first certificate"),
        ("its own", "its own", "", "connection: expected a word of 1 to 128 printable bytes"),
        ("its own", "its own", "two\nlines", "connection: expected a word of 1 to 128 printable bytes"),
    ])
    func invalidCertificateIsRefusedWithAReason(
        certificate: String,
        key: String,
        word: String,
        expected: String
    ) async throws {
        let bench = try bench(doing: "present")
        let pair = try KeyPair(in: bench.workshop)
        let another = try KeyPair(in: bench.workshop).key
        let keyText = ["its own": pair.key, "another": another][key] ?? key
        let reason = await present(certificate == "its own" ? pair.certificate : certificate, keyText, on: word, bench)
        #expect(reason == "refused")
        #expect(bench.log.said.count == 1)
        #expect(bench.log.said.first?.hasPrefix("present 1: \(expected)") == true, "\(bench.log.said)")
        #expect(bench.log.said.first?.contains("secret") == false)
        #expect(http.retired.isEmpty)
    }

    @Test func labelsWithCertificatesAreLimitedAndNeverEvicted() throws {
        var words = ConnectionWords()
        let workshop = try Workshop()
        let pair = try KeyPair(in: workshop)
        let certificate = try ClientCertificate(certificates: pair.certificate, key: pair.key)
        for number in 0..<16 {
            #expect(words.present(certificate, on: "certified \(number)") == [])
        }
        #expect(words.present(certificate, on: "one more") == nil)
        #expect(words.present(certificate, on: "certified 3")?.map(\.word) == ["certified 3"])
        for number in 0..<200 {
            let retired = words.scope(of: "plain \(number)").retired
            #expect(retired?.word == (number < 48 ? nil : "plain \(number - 48)"))
        }
        #expect(words.scope(of: "certified 0").scope.clientCertificate != nil)
        #expect(words.removeAll().count == 64)
    }
}
