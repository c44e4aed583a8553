import Testing

@testable import CarillonLab

struct ProviderTokenTests {
    @Test func tokensThatDoNotHoldAreInvalid() async throws {
        let bench = try await APNsBench()
        let credentials = bench.lab.credentials
        let stranger = LabCredentials()
        let tokens = [
            try await ProviderJWT.make(stranger, issuedAt: APNsBench.now),
            try await ProviderJWT.make(credentials, keyID: "OTHERKEY01", issuedAt: APNsBench.now),
            try await ProviderJWT.make(credentials, teamID: "OTHERTEAM1", issuedAt: APNsBench.now),
            try await ProviderJWT.make(credentials, algorithm: "HS256", issuedAt: APNsBench.now),
            try await ProviderJWT.make(credentials, issuedAt: APNsBench.now + 60),
        ]
        let answers = try await Curl.run(tokens.map { bench.request(jwt: $0) })
        #expect(answers.map(\.status) == Array(repeating: 403, count: tokens.count))
        #expect(answers.map(\.reason) == Array(repeating: "InvalidProviderToken", count: tokens.count))
        #expect(Set(bench.lab.received.compactMap(\.detail)).count == tokens.count)
        await bench.lab.shutdown()
    }

    @Test func anExpiredTokenSpoilsItsConnection() async throws {
        let bench = try await APNsBench()
        let old = try await ProviderJWT.make(bench.lab.credentials, issuedAt: APNsBench.now - 3_600)
        let young = try await ProviderJWT.make(bench.lab.credentials, issuedAt: APNsBench.now - 3_599)
        let answers = try await bench.send(bench.request(jwt: old), bench.request(jwt: young))
        #expect(answers.map(\.reason) == ["ExpiredProviderToken", "ExpiredProviderToken"])
        #expect(try await bench.send(bench.request(jwt: young))[0].status == 200)
        #expect(bench.lab.received.map(\.connection) == [1, 1, 2])
        await bench.lab.shutdown()
    }

    @Test func anotherTokenTooSoonIsOneUpdateTooMany() async throws {
        let bench = try await APNsBench()
        let other = try await ProviderJWT.make(bench.lab.credentials, issuedAt: APNsBench.now - 10)
        let answers = try await bench.send(bench.request(), bench.request(jwt: other), bench.request())
        #expect(answers.map(\.status) == [200, 429, 200])
        #expect(answers[1].reason == "TooManyProviderTokenUpdates")
        await bench.lab.shutdown()
    }

    @Test func aConnectionBelongsToOneKey() async throws {
        let first = LabCredentials()
        let second = LabCredentials(keyID: "LABKEY0002")
        let bench = try await APNsBench { $0.apns.credentials = [first, second] }
        let other = try await ProviderJWT.make(second, issuedAt: APNsBench.now)
        let answers = try await bench.send(bench.request(), bench.request(jwt: other))
        #expect(answers.map(\.reason) == [nil, "UnrelatedKeyIdInToken"])
        #expect(try await bench.send(bench.request(jwt: other))[0].status == 200)
        await bench.lab.shutdown()
    }
}

struct ProviderTokenCheckTests {
    @Test func aNewTokenIsTakenAfterTwentyMinutes() async throws {
        let credentials = LabCredentials()
        let now = APNsBench.now * 1_000
        let first = "bearer " + (try await ProviderJWT.make(credentials, issuedAt: APNsBench.now))
        let second = "bearer " + (try await ProviderJWT.make(credentials, issuedAt: APNsBench.now + 1_000))
        let keys = [try credentials.providerKey(topics: [])]
        var check = ProviderTokenCheck()
        _ = try check.check(first, keys: keys, in: .production, now: now)
        let minutes: Int64 = 60_000
        let refusal = #expect(throws: APNsRefusal.self) {
            try check.check(second, keys: keys, in: .production, now: now + 20 * minutes - 1)
        }
        #expect(refusal?.reason == .tooManyProviderTokenUpdates)
        let accepted = try check.check(second, keys: keys, in: .production, now: now + 20 * minutes)
        #expect(accepted.keyID == credentials.keyID)
    }
}
