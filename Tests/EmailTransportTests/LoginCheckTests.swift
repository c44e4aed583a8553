import PluginKit
import PluginTestSupport
import Testing

@testable import EmailTransport

/// `carillon push email check`: a login without a message.
struct LoginCheckTests {
    private let heard = Heard<CommandAnswer>()
    private static let account: [String: any Sendable] = ["security": "tls", "username": "u", "password": "p"]

    private func asked(_ more: [String: any Sendable] = account) throws -> TransportFixture {
        let fixture = try TransportFixture(more)
        guard case .accepted = fixture.transport.command(["check"], completion: { [heard] in heard.add($0) }) else {
            throw PluginError("not accepted")
        }
        return fixture
    }

    @Test func acceptedLoginPassesTheCheck() throws {
        let fixture = try asked()
        fixture.welcome(offers: ["AUTH PLAIN"])
        #expect(heard.texts.isEmpty)
        fixture.say("235 welcome")
        #expect(heard.texts == ["accepted"] && heard.decisions == [true])
        #expect(fixture.commands() == ["EHLO example.org", "AUTH PLAIN AHUAcA==", "QUIT"])
        #expect(fixture.host.streams.all[0].isClosing)
    }

    @Test func aWrongPasswordIsRefused() throws {
        let fixture = try asked()
        fixture.welcome(offers: ["AUTH PLAIN"])
        fixture.say("535 5.7.8 wrong for u@example.org")
        fixture.host.streams.end(0)
        #expect(heard.texts == ["refused: bad-credentials (535)"] && heard.decisions == [false])
    }

    @Test func unresponsiveServerLeavesCredentialsUnknown() throws {
        let fixture = try asked()
        fixture.host.streams.end(0, "tls-untrusted")
        #expect(heard.texts == ["unknown: tls-untrusted"])
    }

    @Test func checkRespondsOnce() throws {
        let fixture = try asked(["security": "none"])
        fixture.welcome()
        fixture.say("421 too busy")
        fixture.host.streams.end(0)
        #expect(heard.texts == ["accepted"])
    }

    @Test func passwordMayComeFromAFile() throws {
        let block: [String: any Sendable] = [
            "security": "tls", "username": "u", "password_file": "pw", "$files": ["pw": "p\n"],
        ]
        let fixture = try asked(block)
        fixture.welcome(offers: ["AUTH PLAIN"])
        #expect(fixture.commands().last == "AUTH PLAIN AHUAcA==")
    }

    @Test(
        "A file that does not hold one password",
        arguments: [
            (
                ["password_file": "pw", "$files": ["pw": "one\ntwo\n"]],
                "password_file: expected the account's password as"
            ),
            (["password_file": "pw", "$files": ["pw": ""]], "password_file: expected the account's password as"),
            (
                ["password_file": "pw", "password": "secret", "$files": ["pw": "p"]],
                "password_file: expected either this or password, found both"
            ),
        ] as [([String: any Sendable], String)]
    )
    func errorsInTheLoginAreNamed(more: [String: any Sendable], expected: String) {
        do {
            _ = try TransportFixture(["username": "u", "security": "tls"].merging(more) { $1 })
            Issue.record("it was taken")
        } catch {
            #expect("\(error)".hasPrefix(expected) && !"\(error)".contains("secret,"), "\(error)")
        }
    }
}
