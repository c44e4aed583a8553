import Core
import Operations
import Push
import Synchronization
import Testing
import TimeTestSupport

struct CredentialProbeTests {
    /// Gives every push the same outcome, and records the recipients.
    private final class Sender: TrialServices {
        private let outcome: Outcome?
        private let addresses = Mutex<[DeviceAddress]>([])

        init(_ outcome: Outcome?) {
            self.outcome = outcome
        }

        var asked: [DeviceAddress] { addresses.withLock { $0 } }

        func seals(_ platform: String) -> Bool { false }

        func send(
            _ notification: Push.Notification,
            id: DeliveryID,
            to address: DeviceAddress
        ) async throws(OperationError) -> TrialReply {
            addresses.withLock { $0.append(address) }
            guard let outcome else { throw .unavailable("no plugin") }
            return TrialReply(outcome)
        }
    }

    @Test(
        "What an answer about a device that does not exist says of the credentials",
        arguments: [
            (Outcome(.gone, status: 410, reason: "unregistered"), CredentialProbe.Decision.accepted),
            (Outcome(.rejected, status: 400, reason: "bad-device-token"), .accepted),
            (Outcome(.delivered, status: 200, reason: "delivered"), .accepted),
            (
                Outcome(.misconfigured, status: 403, reason: "invalid-provider-token"),
                .refused("403 invalid-provider-token")
            ),
            (
                Outcome(.retry, reason: "unresolved"),
                .unknown("unresolved: the DNS knows no address for the server's name")
            ),
            (Outcome(.retry, status: 503, reason: "shutdown"), .unknown("503 shutdown")),
            (Outcome(.rejected, reason: "payload-empty"), .unknown("payload-empty")),
        ]
    )
    func decision(outcome: Outcome, expected: CredentialProbe.Decision) async {
        let probe = CredentialProbe(services: Sender(outcome), command: Self.none, now: { 1_000 })
        #expect(await probe.ask("ios", token: "00") == expected)
    }

    @Test func credentialsThatCannotBeCheckedAreUnknown() async {
        let probe = CredentialProbe(services: Sender(nil), command: Self.none, now: { 1_000 })
        #expect(await probe.ask("android", token: "00") == .unknown("no plugin"))
        #expect(await probe.notify("ntfy", at: "https://ntfy.example.com/x") == "no plugin")
    }

    @Test func itAsksAboutTheTokenForTheDefaultApp() async {
        let sender = Sender(Outcome(.gone, status: 410, reason: "unregistered"))
        let probe = CredentialProbe(services: sender, command: Self.none, now: { 1_000 })
        _ = await probe.ask("ios", token: "00")
        #expect(sender.asked.map(\.token) == ["00"])
        #expect(sender.asked.allSatisfy { !$0.isProven && $0.app == "default" })
    }

    @Test func topicGetsATestMessage() async {
        let sender = Sender(Outcome(.delivered, status: 200, reason: "delivered"))
        let probe = CredentialProbe(services: sender, command: Self.none, now: { 1_000 })
        #expect(await probe.notify("ntfy", at: "https://ntfy.example.com/x") == nil)
        #expect(sender.asked.map(\.token) == ["https://ntfy.example.com/x"])
    }

    @Test(
        "What a plugin's answer to `check` means",
        arguments: [
            (PushServiceAnswer(isGood: true, text: "accepted: @bot"), CredentialProbe.Decision.accepted),
            (
                PushServiceAnswer(isGood: false, text: "refused: bad-credentials (535)"),
                .refused("bad-credentials (535)")
            ),
            (PushServiceAnswer(isGood: false, text: "unknown: timeout"), .unknown("timeout")),
            (PushServiceAnswer(isGood: false, text: "it takes none"), .unknown("it takes none")),
        ]
    )
    func pluginsResponseDecidesTheCheck(answer: PushServiceAnswer, expected: CredentialProbe.Decision) async {
        let asked = Mutex<[String]>([])
        let probe = CredentialProbe(
            services: Sender(nil),
            command: { platform, words in
                asked.withLock { $0 = [platform] + words }
                return answer
            },
            now: { 1_000 }
        )
        #expect(await probe.check("email") == expected)
        #expect(asked.withLock { $0 } == ["email", "check"])
    }

    /// A command that fails without a plugin.
    private static let none: CredentialProbe.Command = { _, _ in throw OperationError.unavailable("no plugin") }
}
