import Testing

@testable import CarillonLab

/// The provider tokens that a connection to APNs remembers.
struct ConnectionRuleTests {
    private let now = APNsBench.now * 1_000
    private let credentials = LabCredentials()

    private func token(_ credentials: LabCredentials, age: Int64 = 0) async throws -> String {
        "bearer " + (try await ProviderJWT.make(credentials, issuedAt: APNsBench.now - age))
    }

    private func refusal(_ body: () throws -> Void) -> APNsReason? {
        do {
            try body()
            return nil
        } catch {
            return (error as? APNsError)?.reason
        }
    }

    @Test func incorrectProviderTokensAreRefused() async throws {
        let bench = try await APNsBench()
        let credentials = bench.lab.credentials
        let tokens = [
            try await ProviderJWT.make(LabCredentials(), issuedAt: APNsBench.now),
            try await ProviderJWT.make(credentials, keyID: "OTHERKEY01", issuedAt: APNsBench.now),
            try await ProviderJWT.make(credentials, teamID: "OTHERTEAM1", issuedAt: APNsBench.now),
            try await ProviderJWT.make(credentials, algorithm: "HS256", issuedAt: APNsBench.now),
            try await ProviderJWT.make(credentials, issuedAt: APNsBench.now + 60),
        ]
        let answers = try await Curl.run(tokens.map { bench.request(jwt: $0) })
        #expect(answers.allSatisfy { $0.status == 403 && $0.reason == "InvalidProviderToken" })
        #expect(answers.count == tokens.count)
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

    @Test func aConnectionBelongsToOneKey() async throws {
        let other = LabCredentials(keyID: "LABKEY0002")
        let stranger = LabCredentials(keyID: "LABKEY0003", teamID: "LABTEAM002")
        let bench = try await APNsBench { $0.apns.credentials += [other, stranger] }
        let second = try await ProviderJWT.make(other, issuedAt: APNsBench.now)
        let third = try await ProviderJWT.make(stranger, issuedAt: APNsBench.now)
        let answers = try await bench.send(bench.request(), bench.request(jwt: second), bench.request(jwt: third))
        #expect(answers.map(\.reason) == [nil, "UnrelatedKeyIdInToken", "UnrelatedKeyIdInToken"])
        #expect(try await bench.send(bench.request(jwt: second))[0].status == 200)
        await bench.lab.shutdown()
    }

    @Test func tokenRenewedTooSoonGetsTooManyUpdates() async throws {
        let bench = try await APNsBench()
        let renewed = try await ProviderJWT.make(bench.lab.credentials, issuedAt: APNsBench.now - 60)
        let answers = try await bench.send(bench.request(), bench.request(jwt: renewed), bench.request())
        #expect(answers.map(\.status) == [200, 429, 200])
        #expect(answers[1].reason == "TooManyProviderTokenUpdates")
        await bench.lab.shutdown()
    }

    @Test func newTokenIsAcceptedAfterTwentyMinutes() async throws {
        let (first, second) = (try await token(credentials), try await token(credentials, age: -1_000))
        let keys = [try credentials.providerKey(topics: [])]
        var check = ProviderTokenCheck()
        _ = try check.check(first, keys: keys, in: .production, now: now)
        let later = now + 20 * 60_000
        let reason = refusal { _ = try check.check(second, keys: keys, in: .production, now: later - 1) }
        #expect(reason == .tooManyProviderTokenUpdates)
        #expect(try check.check(second, keys: keys, in: .production, now: later).keyID == credentials.keyID)
    }

    @Test func severalTopicsOfATeamShareAConnection() async throws {
        let bench = try await APNsBench { $0.apns.topics = ["com.example.second"] }
        let answers = try await bench.send(
            bench.request(),
            bench.request(headers: ["apns-topic": "com.example.second"])
        )
        #expect(answers.map(\.status) == [200, 200])
        await bench.lab.shutdown()
    }

    @Test func theFirstPushFixesTheTopicsOfAConnection() async throws {
        let text = try await token(credentials)
        var older = ProviderTokenCheck()
        _ = try older.check(text, keys: [try credentials.providerKey(topics: [])], in: .production, now: now)
        let grown = [try credentials.providerKey(topics: ["com.example.new"])]
        #expect(try older.check(text, keys: grown, in: .production, now: now).topics == ["com.example.app"])
        var newer = ProviderTokenCheck()
        #expect(try newer.check(text, keys: grown, in: .production, now: now).topics.contains("com.example.new"))
    }

    @Test func aKeyOfOneEnvironmentIsRefusedInTheOther() async throws {
        var limited = credentials
        limited.environments = [.sandbox]
        let text = try await token(limited)
        let keys = [try limited.providerKey(topics: [])]
        var check = ProviderTokenCheck()
        let reason = refusal { _ = try check.check(text, keys: keys, in: .production, now: now) }
        #expect(reason == .badEnvironmentKeyIDInToken)
        #expect(refusal { _ = try check.check(text, keys: keys, in: .sandbox, now: now) } == nil)
    }

    @Test func keysCanBeAddedWhileItRuns() async throws {
        let bench = try await APNsBench()
        let other = LabCredentials(keyID: "LABKEY0002", topic: "com.example.other")
        let jwt = try await ProviderJWT.make(other, issuedAt: APNsBench.now)
        let request = bench.request(jwt: jwt, headers: ["apns-topic": "com.example.other"])
        #expect(try await bench.send(request)[0].reason == "InvalidProviderToken")
        try bench.lab.declare(other)
        #expect(try await bench.send(request)[0].status == 200)
        await bench.lab.shutdown()
    }

    @Test func repeatsOfAnIdentifierAreCounted() async throws {
        let bench = try await APNsBench()
        let request = bench.request(headers: ["apns-id": "5a0c5a5e-0000-4000-8000-000000000000"])
        _ = try await bench.send(request, bench.request(), request)
        _ = try await bench.send(request)
        #expect(bench.lab.received.map(\.repeats) == [0, 0, 1, 2])
        #expect(bench.lab.received[3].jsonLine().contains(#""repeats":2"#))
        await bench.lab.shutdown()
    }

    @Test func identifiersAreRememberedWithinBounds() {
        var ids = APNsIDs()
        for number in 0..<150_000 { #expect(ids.count("\(number)") == 0) }
        #expect(ids.count("60000") == 1)
        for number in 150_000..<400_000 { _ = ids.count("\(number)") }
        #expect(ids.count("1") == 0)
    }
}
