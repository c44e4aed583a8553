import Setup
import Testing

struct QRCodeTests {
    /// What segno 1.6.6 (PyPI) draws for the first bytes of ``text`` at error correction level L with mask 0: the
    /// modules row by row, as hex digits with zeros behind. The lengths fill each version, so that no padding is left
    /// to differ in.
    private static let goldens: [(Int, String)] = [
        (
            17,
            "fe43fc11906ebabb74f5dba22ec11107faafe01900efae26005c58df2eea312de714005dcffba2f05030bac44dd3462eb6ab"
                + "05712fe98d8"
        ),
        (
            32,
            "fe1b3fc13ed06eae6bb74365dba192ec138d07faaafe01c900efe5e216f0106e90b8f63ae92c325e5b6607268c21ce8128d2"
                + "8644fc007046ffa86b705b91abafcfcdd20cfeebb523051fdafebcf18"
        ),
        (
            53,
            "fe7b73fc138d906ea6a0bb747645dba7372ec13cd907faaaafe01beb00efcd7e25a4607a59b2216f2beaef246bd7f5ac8635"
                + "27e8a0a9689bd84a1fc4665b8c637360b12826a169e8a9aae6f800543c5ffb31eb7050f918ba846f9dd363656eb0ba7305bf"
                + "f72fede7d18"
        ),
        (
            78,
            "fe3379bfc12bfcd06ea202abb7440635dba1711aec13bcc907faaaaafe01be9e00efe4de627006633a7aa12a137b1d9db7a6"
                + "23dcfe49ea0773370f1002c79b8fbd6a03adcff1d847077162c98b097c1a9b91a5b5ecfe1a854675968aa212f6c2adcff2b7"
                + "a5cff8005675c5ffb89aea705dd8913babfeefd5d244584aeaa20c6f057feff2fec5cdf98"
        ),
        (
            106,
            "fe7b779bfc13f9b9906ea42064bb74407735dba77175aec12bafed07faaaaaafe01ffbbb00efa45ce6202864051376a1092a"
                + "e37afbeefe9f73dcdc60c0202463160aa992857b19cfbc2a1e7c7c460e6b6426317081331b5721dbce892f69dc6c6180a774"
                + "6397f982039275a2b9ceb23abddc465aa844463062808b034eb38a9ba62b687cdcf8007466244ffaa2886a7054dfef13baa4"
                + "dccfc5d2770607eeb900147f05fbbdb7afe8dede918"
        ),
    ]

    private static let text =
        "https://ntfy.sh/carillon-0123456789abcdef/a-rather-long-name-for-a-topic/that-fills-the-fifth-version-to-its-very-last-b"

    @Test("The same modules as another encoder draws", arguments: goldens)
    func drawsWhatOthersDraw(length: Int, expected: String) throws {
        let code = try #require(QRCode(String(Self.text.prefix(length))))
        var bits = (0..<code.size * code.size).map { code.isDark($0 % code.size, $0 / code.size) ? 1 : 0 }
        while bits.count % 4 != 0 { bits.append(0) }
        let hex = stride(from: 0, to: bits.count, by: 4).map { start in
            String(bits[start..<start + 4].reduce(0) { $0 * 2 + $1 }, radix: 16)
        }
        #expect(hex.joined() == expected)
    }

    @Test func isNoneForLongerTexts() {
        #expect(QRCode(String(repeating: "a", count: 106)) != nil)
        #expect(QRCode(String(repeating: "a", count: 107)) == nil)
        #expect(QRCode("ü") != nil)
    }

    @Test func linesHoldTwoRowsEach() throws {
        let code = try #require(QRCode("https://ntfy.sh/x"))
        let lines = code.lines(colours: false)
        #expect(lines.count == (code.size + 9) / 2)
        #expect(lines.allSatisfy { $0.count == code.size + 8 })
        // The quiet zone is light, which is drawn where there are no colours.
        #expect(lines.first == String(repeating: "█", count: code.size + 8))
    }
}
