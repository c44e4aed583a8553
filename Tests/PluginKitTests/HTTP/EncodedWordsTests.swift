import PluginKit
import Testing

struct EncodedWordsTests {
    @Test(arguments: [
        ("", ""), ("plain =?text?=", "plain =?text?="), ("a\r\nb\tc", "a b c"),
        ("a_é=?", "=?UTF-8?Q?a=5F=C3=A9=3D=3F?="),
        ("\u{85}", "=?UTF-8?Q?=C2=85?="),
    ])
    func textBecomesEncodedWords(_ text: String, _ expected: String) { #expect(EncodedWords.encode(text) == expected) }

    @Test func cutsBetweenCharacters() {
        let words = EncodedWords.encode(String(repeating: "🔔", count: 12)).split(separator: " ")
        #expect(words.count == 3 && words.allSatisfy { $0.count <= 75 })
        #expect(words[0] == "=?UTF-8?Q?" + String(repeating: "=F0=9F=94=94", count: 5) + "?=")
    }
}
