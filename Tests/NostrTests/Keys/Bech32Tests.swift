import Nostr
import Testing

/// BIP-173's lists of valid and invalid strings.
@Suite struct Bech32Tests {
    @Test(arguments: [
        "A12UEL5L", "a12uel5l",
        "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
        "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
        "11qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqc8247j",
        "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w", "?1ezyfcl",
    ])
    func readsWhatIsValid(text: String) throws {
        let read = try #require(Bech32(text))
        #expect(read.text == text.lowercased())
    }

    @Test(arguments: [
        "\u{20}1nwldj5", "\u{7f}1axkwrx", "\u{80}1eym55h",
        "an84characterslonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1569pvx", "pzry9x0s0muk",
        "1pzry9x0s0muk", "x1b4n0q5v", "li1dgmt3", "de1lg7wt\u{ff}", "A1G7SGD8", "10a06t8", "1qzzfhee", "", "1",
        "a12UEL5L",
    ])
    func refusesWhatIsNot(text: String) {
        #expect(Bech32(text) == nil)
    }

    @Test func takesPrefixAndValuesApart() throws {
        let read = try #require(Bech32("abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"))
        #expect(read.prefix == "abcdef")
        #expect(read.values == Array(0..<32))
        #expect(Bech32("A12UEL5L")?.bytes == [])
    }

    @Test func valuesThatDoNotEndOnAByteAreNoBytes() throws {
        // 82 values of zero: 410 bits, which leave 2 over.
        let zeros = "11qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqc8247j"
        #expect(try #require(Bech32(zeros)).bytes == [UInt8](repeating: 0, count: 51))
        let checkup = try #require(Bech32("split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w"))
        #expect(checkup.values.count == 48)
        #expect(checkup.bytes?.count == 30)
        let alphabet = try #require(Bech32("abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"))
        #expect(alphabet.bytes?.count == 20)
    }
}
