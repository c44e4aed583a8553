import Testing

@testable import WebIngress

@Suite struct FieldParametersTests {
    @Test(
        arguments: [
            (["salt=abc"], [["salt": "abc"]]),
            (["salt=abc;rs=4096"], [["salt": "abc", "rs": "4096"]]),
            (["rs=4096; salt=abc"], [["salt": "abc", "rs": "4096"]]),
            (["  Salt = \"abc\" ; RS=4096 "], [["salt": "abc", "rs": "4096"]]),
            (["salt=abc=="], [["salt": "abc=="]]),
            (["salt=\"abc==\",salt=def"], [["salt": "abc=="], ["salt": "def"]]),
            (["dh=a;p256ecdsa=b"], [["dh": "a", "p256ecdsa": "b"]]),
            (["p256ecdsa=b,dh=a"], [["p256ecdsa": "b"], ["dh": "a"]]),
            (["dh=a", "p256ecdsa=b"], [["dh": "a"], ["p256ecdsa": "b"]]),
            (["keyid=\"p256;dh\";dh=a"], [["keyid": "p256;dh", "dh": "a"]]),
            (["keyid=\"a\\\"b\";dh=c"], [["keyid": "a\"b", "dh": "c"]]),
            (["keyid=\"never closed;dh=a"], [["keyid": "never closed;dh=a"]]),
            (["dh=a;dh=b"], [["dh": "b"]]),
            (["", ";;,,", "=", "=a", "flag", " "], []),
            (["dh="], [["dh": ""]]),
        ] as [([String], [[String: String]])]
    )
    func parametersAreReadHoweverTheyAreWritten(lines: [String], sets: [[String: String]]) {
        #expect(FieldParameters(lines).sets == sets)
    }

    @Test func theSetIsChosenByItsKey() {
        let keys = FieldParameters(["keyid=a;dh=one, keyid=b;dh=two, p256ecdsa=three"])
        #expect(keys.set(with: "dh", of: ["keyid": "a"])?["dh"] == "one")
        #expect(keys.set(with: "dh", of: ["keyid": "b"])?["dh"] == "two")
        #expect(keys.set(with: "dh", of: ["keyid": "c"])?["dh"] == "two")
        #expect(keys.set(with: "dh")?["dh"] == "two")
        #expect(keys.set(with: "salt") == nil)
    }
}
