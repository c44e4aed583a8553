import CarillonLab
import Delivery
import Push
import Testing

/// ntfy's own error codes (`server/errors.go`), row by row. No code deletes a device, because topics never expire, and
/// only a failing server delays other devices.
@Suite(.stage(Ntfy()))
struct NtfyStatusTests {
    private static let mistakes: [StatusRow] = [
        .rejected(.ntfy(40000), "bad-request"),
        .rejected(.ntfy(40001), "bad-contact"),
        .rejected(.ntfy(40002), "bad-delay"),
        .rejected(.ntfy(40003), "bad-delay"),
        .rejected(.ntfy(40004), "bad-delay"),
        .rejected(.ntfy(40005), "bad-delay"),
        .rejected(.ntfy(40006), "bad-delay"),
        .rejected(.ntfy(40007), "bad-priority"),
        .rejected(.ntfy(40008), "bad-request"),
        .rejected(.ntfy(40009), "bad-topic"),
        .rejected(.ntfy(40010), "bad-topic"),
        .rejected(.ntfy(40011), "bad-request"),
        .rejected(.ntfy(40013), "bad-attachment"),
        .rejected(.ntfy(40014), "bad-attachment"),
        .rejected(.ntfy(40015), "bad-attachment"),
        .rejected(.ntfy(40016), "bad-request"),
        .rejected(.ntfy(40017), "bad-request"),
        .rejected(.ntfy(40018), "bad-actions"),
        .rejected(.ntfy(40019), "bad-request"),
        .rejected(.ntfy(40021), "bad-icon"),
        .rejected(.ntfy(40022), "bad-request"),
        .rejected(.ntfy(40023), "bad-request"),
        .rejected(.ntfy(40024), "bad-request"),
        .rejected(.ntfy(40025), "bad-request"),
        .rejected(.ntfy(40031), "bad-request"),
        .rejected(.ntfy(40032), "bad-contact"),
        .rejected(.ntfy(40037), "bad-contact"),
        .rejected(.ntfy(40038), "bad-request"),
        .rejected(.ntfy(40040), "bad-request"),
        .rejected(.ntfy(40041), "bad-template"),
        .rejected(.ntfy(40045), "bad-template"),
        .rejected(.ntfy(40046), "bad-request"),
        .rejected(.ntfy(40101), "unauthorized"),
        .rejected(.ntfy(40301), "forbidden"),
        .rejected(.ntfy(40401), "not-found"),
        .rejected(.ntfy(40901), "other"),
        .rejected(.ntfy(40904), "other"),
        .rejected(.ntfy(41001), "gone"),
        .reduced(.ntfy(41301), "payload-too-large"),
        .reduced(.ntfy(41302), "payload-too-large"),
        .reduced(.ntfy(41303), "payload-too-large"),
        .rejected(.html(status: 400), "bad-request"),
        .rejected(.html(status: 302), "redirect"),
    ]

    private static let limits: [StatusRow] = [
        .retry(.ntfy(42901), "too-many-requests", wait: .seconds(5), holdsUp: .host),
        .retry(.ntfy(42901, retryAfter: 17), "too-many-requests", wait: .seconds(17), holdsUp: .host),
        .retry(.ntfy(42902), "limit-reached", wait: .seconds(5)),
        .retry(.ntfy(42903), "limit-reached", wait: .seconds(5)),
        .retry(.ntfy(42904), "limit-reached", wait: .seconds(5)),
        .retry(.ntfy(42905), "limit-reached", wait: .seconds(5)),
        .retry(.ntfy(42906), "limit-reached", wait: .seconds(5)),
        .retry(.ntfy(42907), "limit-reached", wait: .seconds(5)),
        .retry(.ntfy(42908), "daily-limit", wait: .midnight),
        .retry(.ntfy(42909), "too-many-wrong-tokens", wait: .seconds(60)),
        .retry(.ntfy(42910), "limit-reached", wait: .seconds(5)),
        .retry(.html(status: 429), "too-many-requests", wait: .seconds(5), holdsUp: .host),
        .retry(.ntfy(50001), "server-error"),
        .retry(.ntfy(50002), "server-error"),
        .retry(.ntfy(50003), "server-error"),
        .retry(.ntfy(50004), "server-error"),
        .retry(.html(status: 502), "server-error"),
        .retry(.html(status: 503), "server-error", wait: .seconds(5), holdsUp: .host),
        .retry(.ntfy(50701), "insufficient-storage"),
    ]

    /// An account's limit is no other's.
    private static let limitsOfAccounts: [StatusRow] = [
        .retry(.ntfy(42901), "too-many-requests", wait: .seconds(5)),
        .retry(.ntfy(42908), "daily-limit", wait: .midnight),
        .rejected(.ntfy(40101), "unauthorized"),
        .rejected(.ntfy(40301), "forbidden"),
    ]

    @Test(arguments: mistakes)
    func everyErrorOfTheRequest(_ row: StatusRow) async throws { try await row.check(with: Ntfy()) }

    @Test(arguments: limits)
    func everyLimit(_ row: StatusRow) async throws { try await row.check(with: Ntfy()) }

    @Test(arguments: limitsOfAccounts)
    func everyLimitOfAnAccount(_ row: StatusRow) async throws { try await row.check(with: Ntfy(hasAccount: true)) }

    /// ntfy counts them by our address, and finally rejects all tokens.
    @Test func wrongTokenIsSentOnce() async throws {
        try await StatusBench.with(Ntfy(hasAccount: true)) { bench in
            let (device, place) = try bench.register(.itself)
            bench.lab.misbehave(ScriptedBehavior(.ntfy(40101), service: .ntfy, target: place.target, times: nil))
            for _ in 1...3 {
                let delivery = try bench.accept([(device, .first)])[0]
                let reports = try await bench.untilTheEnd(of: delivery)
                #expect(reports.map(\.kind) == [.rejected] && reports.map(\.reason) == ["unauthorized"])
            }
            #expect(bench.lab.received.filter { $0.target == place.target }.count == 1)
            #expect(bench.devices.address(of: device) != nil)
        }
    }
}

extension ScriptedBehavior.Action {
    /// With one of ntfy's codes, the first three digits of which are the status.
    fileprivate static func ntfy(_ code: Int, retryAfter: Int? = nil) -> Self {
        .says(code / 100, "\(code)", retryAfter: retryAfter)
    }
}
