import Testing

@testable import Nostr

@Suite struct InvoiceAmountTests {
    /// The beginnings of the examples in BOLT-11; what follows them says nothing of the amount.
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
    func whatAsksForNoAmountIsRefused(_ invoice: String) {
        #expect(InvoiceAmount.millisats(of: invoice) == nil)
    }
}
