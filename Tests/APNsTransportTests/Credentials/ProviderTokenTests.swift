import CarillonABI
import Cipher
import Core
import Foundation
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import APNsTransport

struct ProviderTokenTests {
    private let key = P256PrivateKey()
    private let start = ManualClock.start

    private func machine() -> ProviderToken {
        ProviderToken(teamID: "TEAMID1234", keyID: "ABCDEFGHIJ", bundleID: "com.example.app", key: key)
    }

    private func parts(_ proof: Proof) throws -> (signed: String, header: String, claims: String, signature: [UInt8]) {
        let authorization = try #require(proof.authorization)
        #expect(authorization.hasPrefix("bearer "))
        let parts = authorization.dropFirst("bearer ".count).split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let text = { (part: String) in String(decoding: try #require(Base64URL.decode(part)), as: UTF8.self) }
        return (
            parts[0] + "." + parts[1], try text(parts[0]), try text(parts[1]), try #require(Base64URL.decode(parts[2]))
        )
    }

    @Test func isAJSONWebTokenThatTheKeySigned() throws {
        var machine = machine()
        let parts = try parts(machine.proof(now: start + .milliseconds(999)))
        #expect(try isSameJSON(parts.header, #"{"alg":"ES256","kid":"ABCDEFGHIJ"}"#))
        #expect(try isSameJSON(parts.claims, #"{"iss":"TEAMID1234","iat":1770000000}"#))
        #expect(parts.signature.count == 64)
        #expect(key.publicKey.isValidES256(parts.signature, for: [UInt8](parts.signed.utf8)))
    }

    @Test func isUsedForFiftyMinutes() throws {
        var machine = machine()
        let first = try machine.proof(now: start)
        #expect(try machine.proof(now: start + .minutes(50) - .milliseconds(1)) === first)
        let second = try machine.proof(now: start + .minutes(50))
        #expect(second.authorization != first.authorization)
        // Apple wants connections to last: only an expired token justifies a new one.
        #expect(second.connection == first.connection)
        #expect(second.generation == first.generation + 1)
    }

    @Test func isRenewedWhenAppleCallsItExpiredAndItIsOldEnough() throws {
        var machine = machine()
        let first = try machine.proof(now: start)
        #expect(machine.refuse(generation: first.generation, now: start + .minutes(20)) == .renewed)
        let second = try machine.proof(now: start + .minutes(20))
        #expect(second.authorization != first.authorization)
        #expect(second.connection != first.connection)
    }

    @Test func isKeptWhenAppleCallsItExpiredTooSoon() throws {
        var machine = machine()
        let first = try machine.proof(now: start)
        #expect(
            machine.refuse(generation: first.generation, now: start + .minutes(20) - .milliseconds(1))
                == .clocksDisagree
        )
        #expect(try machine.proof(now: start + .minutes(20) - .milliseconds(1)) === first)
    }

    @Test func lateAnswersToAnOldTokenDoNotRenewTheNewOne() throws {
        var machine = machine()
        let first = try machine.proof(now: start)
        #expect(machine.refuse(generation: first.generation, now: start + .minutes(30)) == .renewed)
        let second = try machine.proof(now: start + .minutes(30))
        #expect(machine.refuse(generation: first.generation, now: start + .minutes(55)) == .renewed)
        #expect(try machine.proof(now: start + .minutes(55)) === second)
    }

    @Test func connectionsAreClosedOnceForManyRefusals() throws {
        var machine = machine()
        let first = try machine.proof(now: start)
        machine.leaveConnections(named: first.connection)
        let second = try machine.proof(now: start)
        #expect(second.authorization == first.authorization)
        #expect(second.generation == first.generation)
        #expect(second.connection != first.connection)
        machine.leaveConnections(named: first.connection)
        #expect(try machine.proof(now: start) === second)
    }

    @Test func isRenewedWhenTheClockIsSetBackFar() throws {
        var machine = machine()
        let first = try machine.proof(now: start)
        #expect(try machine.proof(now: start - .minutes(20)) === first)
        #expect(try machine.proof(now: start - .minutes(21)) !== first)
    }

    @Test(.enabled(if: PythonCryptography.isThere)) func anotherLibraryAcceptsTheSignature() throws {
        var machine = machine()
        let parts = try parts(machine.proof(now: start))
        let decision = try PythonCryptography.verifyES256(
            publicKey: key.publicKey.pemRepresentation,
            message: parts.signed,
            signature: parts.signature
        )
        #expect(decision == "good")
        let forged = try PythonCryptography.verifyES256(
            publicKey: key.publicKey.pemRepresentation,
            message: parts.signed + "x",
            signature: parts.signature
        )
        #expect(forged == "bad")
    }
}

struct ExpiredProviderTokenTests {
    private let expired = #"{"reason":"ExpiredProviderToken"}"#

    @Test func anOldTokenIsRenewedAndTheDeliveryTriedAgain() throws {
        let fixture = try TransportFixture()
        _ = try fixture.deliver(.wake("dm"), ticket: 1)
        _ = try fixture.deliver(.wake("dm"), ticket: 2)
        fixture.clock.advance(by: .minutes(30))
        fixture.host.answer(0, status: 403, body: expired)
        _ = try fixture.deliver(.wake("dm"), ticket: 3)
        fixture.host.answer(1, status: 403, body: expired)
        _ = try fixture.deliver(.wake("dm"), ticket: 4)
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_RETRY, .CARILLON_RETRY])
        #expect(fixture.host.outcomes.map(\.reason) == ["expired-provider-token", "expired-provider-token"])
        let tokens = fixture.host.requests.map { $0.headers["authorization"] }
        #expect(tokens[0] == tokens[1])
        #expect(tokens[1] != tokens[2])
        #expect(tokens[2] == tokens[3])
        // A connection with an expired token also rejects the next one.
        let connections = fixture.host.requests.map(\.connection)
        #expect(connections[0] == connections[1])
        #expect(connections[1] != connections[2])
        #expect(connections[2] == connections[3])
    }

    @Test func freshTokenCalledExpiredIsAClockError() throws {
        let fixture = try TransportFixture()
        _ = try fixture.deliver(.wake("dm"))
        fixture.clock.advance(by: .minutes(5))
        fixture.host.answer(status: 403, body: expired)
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_MISCONFIGURED])
        #expect(fixture.host.log.count == 1)
        _ = try fixture.deliver(.wake("dm"))
        #expect(Set(fixture.host.requests.map { $0.headers["authorization"] }).count == 1)
    }
}

/// The connections that pushes use.
struct ConnectionTests {
    @Test func allPushesOfAnAppShareTheirConnections() throws {
        let fixture = try TransportFixture()
        let device = SampleRegistration(
            token: TransportFixture.deviceToken,
            fields: [("voip_token", String(repeating: "c3", count: 32)), ("environment", "sandbox")]
        )
        let call = SampleNotification.alert(title: "t", body: "b", native: #"{"push-type":"voip"}"#)
        _ = try fixture.deliver(.wake("dm"))
        _ = try fixture.deliver(call, to: device)
        #expect(Set(fixture.host.requests.map(\.connection)) == ["TEAMID1234.ABCDEFGHIJ.com.example.app.0"])
    }

    @Test func renewedTokenKeepsItsConnections() throws {
        let fixture = try TransportFixture()
        _ = try fixture.deliver(.wake("dm"))
        fixture.clock.advance(by: .minutes(50))
        _ = try fixture.deliver(.wake("dm"))
        #expect(Set(fixture.host.requests.map { $0.headers["authorization"] }).count == 2)
        #expect(Set(fixture.host.requests.map(\.connection)).count == 1)
    }

    @Test func connectionOfAnotherKeyIsClosed() throws {
        let fixture = try TransportFixture()
        _ = try fixture.deliver(.wake("dm"))
        fixture.refuse(403, "UnrelatedKeyIdInToken")
        _ = try fixture.deliver(.wake("dm"))
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_MISCONFIGURED])
        #expect(Set(fixture.host.requests.map { $0.headers["authorization"] }).count == 1)
        #expect(Set(fixture.host.requests.map(\.connection)).count == 2)
    }

    @Test func connectionLabelsFitTheHostsLimit() {
        let longest = String(repeating: "x", count: 255)
        let words = [
            ConnectionWord.token(teamID: "TEAMID1234", keyID: "ABCDEFGHIJ", bundleID: longest, generation: .max),
            ConnectionWord.certificate(fingerprint: [UInt8](repeating: 255, count: 32), bundleID: longest),
        ]
        #expect(words.allSatisfy { $0.utf8.count <= 128 })
    }
}
