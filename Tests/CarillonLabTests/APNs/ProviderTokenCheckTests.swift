import Testing

@testable import CarillonLab

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
