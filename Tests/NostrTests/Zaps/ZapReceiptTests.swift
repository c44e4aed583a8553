import Cipher
import Foundation
import Testing

@testable import Nostr

@Suite struct ZapReceiptTests {
    private struct Vector: Decodable {
        struct Receipt: Decodable {
            let pubkey: String
            let tags: [[String]]
        }

        let source: String
        let event: Receipt
    }

    private let sender: KeyPair

    init() throws {
        sender = try KeyPair(random: SecureRandom.bytes)
    }

    private func vector(_ source: String) throws -> Event {
        let url = try #require(Bundle.module.url(forResource: "Vectors/zap-receipts", withExtension: "json"))
        let file = try JSONDecoder().decode([String: [Vector]].self, from: Data(contentsOf: url))
        let vector = try #require(file["receipts"]?.first { $0.source == source }?.event)
        return Event.sample(kind: .zapReceipt, by: try #require(PublicKey(hex: vector.pubkey)), tags: vector.tags)
    }

    private func request(
        to recipients: [PublicKey] = [.alice],
        amount: String? = "21000",
        kind: Kind = .zapRequest,
        tags: [[String]] = []
    ) throws -> Event {
        let amount = amount.map { [["amount", $0]] } ?? []
        return try Event.signed(
            kind: kind,
            createdAt: 1000,
            tags: recipients.map { ["p", $0.hex] } + amount + tags,
            content: "Zap!",
            by: sender
        )
    }

    private func receipt(
        _ request: Event,
        to recipients: [PublicKey] = [.alice],
        invoice: String = "lnbc210n1pqqq"
    ) -> Event {
        let description = String(decoding: request.json, as: UTF8.self)
        let tags = [["bolt11", invoice], ["description", description]]
        return .sample(kind: .zapReceipt, by: .bob, tags: recipients.map { ["p", $0.hex] } + tags)
    }

    @Test func receiptsThatWalletsPublishedAreRead() throws {
        let ofNote = try ZapReceipt(vector("nostr-client-tests"))
        #expect(ofNote.millisats == 25_000)
        #expect(ofNote.sender.hex == "5ce459cafd0d464375b872cb48826012bd1c017566c536d56440b5462591be2f")
        #expect(ofNote.recipient.hex == "875685e12bdeaaa7a207d8d25c3fd432a8af307b80f8a5226777b50b0aa2f846")
        #expect(ofNote.zapped?.hex == "49113ee36916684cad14ab94b0e579455e58adedfb5b8952d1b42b56384b438e")
        #expect(ofNote.comment.isEmpty && !ofNote.isAnonymous)
        let ofPerson = try ZapReceipt(vector("nostria-service"))
        #expect(ofPerson.millisats == 971_000)
        #expect(ofPerson.comment.hasPrefix("🎁 Nostria Premium Gift\n"))
        #expect(ofPerson.zapped == nil)
    }

    @Test func exampleOfTheNIPHasAnUnsignedRequest() {
        #expect(throws: ZapReceiptError.forgedRequest) { try ZapReceipt(vector("NIP-57")) }
    }

    @Test func requestNeedNotNameAnAmount() throws {
        #expect(try ZapReceipt(receipt(request(amount: nil))).millisats == 21_000)
    }

    @Test func invoiceMustBeOfTheAmountThatWasAskedFor() throws {
        for amount in ["21001", "21", "", "21000.0", "-21000"] {
            #expect(throws: ZapReceiptError.otherAmount) { try ZapReceipt(receipt(request(amount: amount))) }
        }
        #expect(throws: ZapReceiptError.noAmount) { try ZapReceipt(receipt(request(), invoice: "lnbc1pqqq")) }
    }

    @Test func anonymousSenderIsDetected() throws {
        #expect(try ZapReceipt(receipt(request(tags: [["anon"]]))).isAnonymous)
        #expect(try ZapReceipt(receipt(request(tags: [["anon", "pzap1qqq_iv1qqq"]]))).isAnonymous)
    }

    @Test func recipientMustBeTheSameAndTheOnlyOne() throws {
        let cases: [([PublicKey], [PublicKey])] = [
            ([.bob], [.alice]), ([.alice], [.bob]), ([.alice, .bob], [.alice]), ([.alice], [.alice, .bob]), ([], []),
            ([], [.alice]), ([.alice], []),
        ]
        for (asked, named) in cases {
            #expect(throws: ZapReceiptError.wrongRecipient) { try ZapReceipt(receipt(request(to: asked), to: named)) }
        }
        #expect(throws: Never.self) { try ZapReceipt(receipt(request(), to: [.alice, .alice])) }
    }

    @Test func invalidRequestIsRefused() throws {
        for description in ["", "{}", "zap", "[]"] {
            let event = Event.sample(
                kind: .zapReceipt,
                tags: [["p", PublicKey.alice.hex], ["description", description]]
            )
            #expect(throws: ZapReceiptError.noRequest) { try ZapReceipt(event) }
        }
        #expect(throws: ZapReceiptError.noRequest) { try ZapReceipt(Event.sample(kind: .zapReceipt)) }
        #expect(throws: ZapReceiptError.noRequest) { try ZapReceipt(receipt(request(kind: .textNote))) }
        #expect(throws: ZapReceiptError.notAReceipt) { try ZapReceipt(Event.sample(kind: .textNote)) }
    }

    @Test func requestThatWasChangedIsForged() throws {
        var request = try request()
        request.content = "I am generous"
        #expect(throws: ZapReceiptError.forgedRequest) { try ZapReceipt(receipt(request)) }
    }
}

@Suite struct InvoiceAmountTests {
    /// Prefixes of the examples in BOLT-11; the rest of an invoice does not affect the amount.
    @Test(
        arguments: [
            ("lnbc2500u1pvjluezpp5qqqsyqcyq5rqwzqf", 250_000_000),
            ("lnbc20m1pvjluezpp5qqqsyqcyq5rqwzqf", 2_000_000_000),
            (
                "lnbc9678785340p1pwmna7lpp5gc3xfm08u9qy06djf8dfflhugl6p7lgza6dsjxq454gxhj9t7a0sd8dgfkx7cmtwd68yet",
                967_878_534
            ),
            ("LNBC25M1PVJLUEZPP5QQQSYQCYQ5RQWZQF", 2_500_000_000),
            ("lnbc11qqq", 100_000_000_000), ("lnbc10p1qqq", 1),
            ("lnbc210000001qqq", 2_100_000_000_000_000_000),
        ] as [(String, UInt64)]
    )
    func amountsAreRead(_ invoice: String, _ millisats: UInt64) {
        #expect(InvoiceAmount.millisats(of: invoice) == millisats)
    }

    @Test(arguments: [
        // Any amount; no separator; mixed case; no such multiplier; less than a millisat: all of BOLT-11.
        "lnbc1pvjluezpp5qqqsyqcyq5rqwzqf", "pvjluezpp5qqqsyqcyq5rqwzqf", "LNBC2500u1pvjluezpp5qqqsyqcyq5rqwzqf",
        "lnbc2500x1pvjluezpp5qqqsyqcyq5rqwzqf", "lnbc2500000001p1pvjluezpp5qqqsyqcyq5rqwzqf",
        "", "1", "lnbc", "ln1", "lnxy20m1qqq", "lnbc020m1qqq", "lnbc0m1qqq", "lnbc-20m1qqq", "lnbc+20m1qqq",
        "lnbc20mm1qqq",
        "lnbc٢m1qqq", "lnbc99999999999999999999m1qqq", "lnbc18446744073709551615u1qqq", "lnbc210000011qqq",
        "lnbc m1qqq",
        "lightning:lnbc20m1qqq", " lnbc20m1qqq",
        // Test networks.
        "lntb20m1pvjluezhp58yjmdan79s6qqdhdzgynm4zwqd5d7xmw5fk98klysy043l2ahrqspp5qqqsyqcyq5",
        "lnbcrt10u1pjqn7lnpp5qhkrz6f6srlqdjuemjrcvdhm6qdjpa5qqxlz", "lntbs500n1p3w7k",
    ])
    func invoiceWithoutAnAmountIsRefused(_ invoice: String) {
        #expect(InvoiceAmount.millisats(of: invoice) == nil)
    }
}
