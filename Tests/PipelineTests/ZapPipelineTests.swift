import Cipher
import Delivery
import Nostr
import Push
import Testing

@testable import Pipeline

@Suite struct ZapPipelineTests {
    private let bench: Workbench
    private let sender: KeyPair
    private let wallet: KeyPair

    init() throws {
        bench = try Workbench()
        sender = try KeyPair(random: SecureRandom.bytes)
        wallet = try KeyPair(random: SecureRandom.bytes)
    }

    private func receipt(for owner: KeyPair, from sender: KeyPair, comment: String = "Thank you!") throws -> Event {
        let recipient = ["p", owner.publicKey.hex]
        let request = try bench.event(.zapRequest, comment, tags: [recipient, ["amount", "21000"]], by: sender)
        let description = ["description", String(decoding: request.json, as: UTF8.self)]
        return try bench.event(.zapReceipt, tags: [recipient, ["bolt11", "lnbc210n1pqqq"], description], by: wallet)
    }

    @Test func zapShowsSenderAndAmount() throws {
        let owner = try bench.account(["zap"])
        bench.submit([
            try bench.event(.profile, #"{"name":"alice"}"#, by: sender),
            try bench.event(.profile, #"{"name":"A Wallet"}"#, by: wallet),
        ])
        bench.submit([try receipt(for: owner, from: sender)])
        let notification = try #require(bench.kept.first?.notification)
        #expect(notification.title == "⚡ alice zapped you 21 sats")
        #expect(notification.body == "Thank you!")
        #expect(notification.data.contains("\"author_pubkey\":\"\(sender.publicKey.hex)\""))
    }

    @Test func zapWithSeveralReceiptsSendsOnePush() throws {
        let owner = try bench.account(["zap"], mode: "wake")
        let first = try receipt(for: owner, from: sender)
        let request = try #require(first.value(of: "description"))
        let others = try (0..<3).map { number in
            let tags = [
                ["p", owner.publicKey.hex], ["bolt11", "lnbc210n1pqqq"], ["description", request], ["\(number)"],
            ]
            return try bench.event(.zapReceipt, tags: tags, by: Workbench.keys())
        }
        bench.diskIsFull = true
        #expect(bench.submit([first]).map(\.result.isFinal) == [false])
        bench.diskIsFull = false
        #expect(bench.submit([first, others[0]]).map(\.result) == [.accepted, .accepted])
        bench.submit([others[1]], from: .relay(.live))
        try bench.restart()
        bench.submit([others[2]], from: .relay(.stored))
        #expect(bench.kept.count == 1)
        bench.submit([try receipt(for: owner, from: sender, comment: "another")])
        #expect(bench.kept.count == 2)
    }

    @Test func deviceThatDoesNotAskForZapsGetsNone() throws {
        let owner = try bench.account(["dm", "mention", "reply"])
        bench.submit([try receipt(for: owner, from: sender)])
        #expect(bench.kept.isEmpty)
        #expect(bench.count(.unwanted) == 1)
    }

    @Test func wakeUpForAZapHidesItsContent() throws {
        let owner = try bench.account(["zap"], mode: "wake")
        bench.submit([try receipt(for: owner, from: sender)])
        #expect(bench.kept.map(\.notification) == [.wake(.zap, urgency: .normal)])
    }

    @Test func invalidZapSendsNoPush() throws {
        let owner = try bench.account(["zap"])
        let decisions = bench.submit([
            try bench.event(.zapReceipt, tags: [["p", owner.publicKey.hex], ["bolt11", "lnbc210n1pqqq"]], by: wallet)
        ])
        #expect(decisions.map(\.result) == [.accepted])
        #expect(bench.kept.isEmpty)
        #expect(bench.count(.invalidZap) == 1)
    }

    @Test func zapFromADeviceOfTheAccountIsItsOwn() throws {
        let (owner, device) = (try bench.account(["zap"]), sender)
        let list = try bench.event(.deviceList, tags: [["device", device.publicKey.hex]], by: owner)
        bench.submit([try receipt(for: owner, from: device, comment: "before"), list])
        let decisions = bench.submit([try receipt(for: owner, from: device, comment: "after")])
        #expect(decisions.map(\.result) == [.accepted])
        #expect(bench.kept.map(\.notification.body) == ["before"])
        #expect(bench.count(.own) == 1)
    }

    @Test func zapFromAnotherAccountsDeviceSendsAPush() throws {
        let (owner, other) = (try bench.account(["zap"]), try bench.account(["zap"]))
        bench.submit([try bench.event(.deviceList, tags: [["device", sender.publicKey.hex]], by: other)])
        bench.submit([try receipt(for: owner, from: sender)])
        #expect(bench.kept.count == 1)
    }

    @Test func zapToOneselfSendsNoPush() throws {
        let owner = try bench.account(["zap"])
        bench.submit([try receipt(for: owner, from: owner)])
        #expect(bench.kept.isEmpty)
        #expect(bench.count(.own) == 1)
    }
}
