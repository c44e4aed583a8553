import Storage
import Testing

@Suite struct YAMLReadingTests {
    private func mistakes(_ text: String, _ read: (YAMLValue) -> Void) -> [String] {
        let file = YAMLFile(name: "f.yaml", environment: { $0 == "SET" ? "value" : nil })
        if let value = file.parse(text) { read(value) }
        return file.mistakes.map(\.description)
    }

    @Test func unknownKeyIsReportedWithItsPlaceAndASuggestion() {
        let found = mistakes("a: 1\ntitel: x\n") { _ = $0.mapping(keys: ["a", "title"]) }
        #expect(found == ["f.yaml:2:1: unknown key 'titel'; did you mean 'title'?"])
    }

    @Test func unknownKeyWithoutASuggestionListsKnownKeys() {
        let found = mistakes("zzzz: 1\n") { _ = $0.mapping(keys: ["a", "title"]) }
        #expect(found == ["f.yaml:1:1: unknown key 'zzzz'; known here: a, title"])
    }

    @Test func wrongTypesAreReportedWithTheirPath() {
        let found = mistakes("n: many\nb: perhaps\nl: 3\n") {
            let mapping = $0.mapping(keys: ["n", "b", "l"])
            #expect(mapping?["n"]?.integer(in: 0...5) == nil)
            #expect(mapping?["b"]?.bool() == nil)
            #expect(mapping?["l"]?.list() == nil)
        }
        #expect(
            found == [
                "f.yaml:1:4: n: expected a whole number from 0 to 5",
                "f.yaml:2:4: b: expected true or false",
                "f.yaml:3:4: l: expected a list",
            ]
        )
    }

    @Test(
        arguments: [
            ("48", .hours, 48), ("48h", .hours, 48), ("2d", .hours, 48), ("\"2d\"", .hours, 48), ("1w", .days, 7),
            ("1h30m", .minutes, 90), ("2s", .milliseconds, 2_000), ("0s", .seconds, 0), ("60s", .minutes, 1),
        ] as [(String, TimeUnit, Int)]
    )
    func timeIsANumberOrADuration(_ text: String, _ unit: TimeUnit, _ count: Int) {
        let found = mistakes("n: \(text)") {
            #expect($0.mapping()?["n"]?.integer(of: unit, in: 0...5_000) == count)
        }
        #expect(found == [])
    }

    @Test(
        arguments: [
            ("90m", "'90m' is not a whole number of hours from 1 to 720; expected one such as 24, 24h or 1d"),
            ("31d", "'31d' is not a whole number of hours from 1 to 720; expected one such as 24, 24h or 1d"),
            ("2y", "'2y' is not a whole number of hours from 1 to 720; expected one such as 24, 24h or 1d"),
            ("1.5h", "'1.5h' is not a whole number of hours from 1 to 720; expected one such as 24, 24h or 1d"),
            ("0", "expected a whole number from 1 to 720"), ("1.5", "expected a whole number from 1 to 720"),
            ("soon", "expected a whole number from 1 to 720"), ("\"24\"", "expected a whole number from 1 to 720"),
            ("${SET}", "expected a whole number from 1 to 720"), ("[1h]", "expected a whole number from 1 to 720"),
        ]
    )
    func wrongTimeIsReportedWithExamples(_ text: String, _ message: String) {
        let found = mistakes("n: \(text)") {
            #expect($0.mapping()?["n"]?.integer(of: .hours, in: 1...720) == nil)
        }
        #expect(found == ["f.yaml:1:4: n: \(message)"])
    }

    @Test(arguments: ["a: [1", "a: b: c", "\"unclosed", "a: 1\na: 2\n"])
    func brokenYAMLIsOneErrorWithItsLine(_ text: String) {
        let found = mistakes(text) { _ in }
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("f.yaml:") == true)
    }

    @Test func emptyFileIsAnError() {
        #expect(mistakes("") { _ in } == ["f.yaml: the file is empty"])
    }

    @Test func missingKeyErrorExplainsItsPurpose() {
        let found = mistakes("a: 1\n") { _ = $0.mapping(keys: ["a", "key"])?.require("key", "a file with the key") }
        #expect(found == ["f.yaml:1:1: 'key' is missing: a file with the key"])
    }

    @Test func blockBecomesJSON() throws {
        let text =
            "{ s: text, q: \"5\", n: 5, f: 0.5, b: true, z: null, l: [1, a], m: { x: \"${SET}\", y: \"a${SET}\" } }"
        let file = YAMLFile(name: "f", environment: { $0 == "SET" ? "value" : nil })
        let json = try #require(file.parse(text)?.json())
        #expect(
            json == #"{"b":true,"f":0.5,"l":[1,"a"],"m":{"x":"value","y":"a${SET}"},"n":5,"q":"5","s":"text","z":null}"#
        )
    }

    @Test func environmentVariablesReplaceWholeValues() {
        let found = mistakes("a: ${SET}\nb: ${UNSET}\n") {
            let mapping = $0.mapping()
            #expect(mapping?["a"]?.string() == "value")
            #expect(mapping?["b"]?.string() == nil)
        }
        #expect(found == ["f.yaml:2:4: b: the environment variable ${UNSET} is not set"])
    }

    @Test(arguments: [
        ("${SET}/key.p8", "value/key.p8"), ("a${SET}/b", "a${SET}/b"), ("${SET}x", "${SET}x"), ("${SET", "${SET"),
        ("${SET}/{{title}}", "${SET}/{{title}}"),
    ])
    func environmentVariablesReplaceTheStartOfPaths(_ written: String, _ meant: String) {
        let found = mistakes("a: \"\(written)\"\n") { #expect($0.mapping()?["a"]?.string() == meant) }
        #expect(found.isEmpty)
    }

    @Test func invalidChoiceSuggestsTheNearest() {
        let found = mistakes("m: alart\n") { #expect($0.mapping()?["m"]?.choice(["wake", "alert"]) == nil) }
        #expect(found == ["f.yaml:1:4: m: 'alart' is none of wake, alert; did you mean 'alert'?"])
    }

    @Test func errorNeverQuotesEnvironmentValues() {
        let found = mistakes("m: ${SET}\n") { #expect($0.mapping()?["m"]?.choice(["wake", "alert"]) == nil) }
        #expect(found == ["f.yaml:1:4: m: '${SET}' is none of wake, alert"])
    }

    @Test func unsetVariableInABlockIsReportedAtItsPlace() {
        let found = mistakes("a: x\nb:\n  c: [1, \"${UNSET}\"]\n") { _ = $0.json() }
        #expect(found == ["f.yaml:3:10: b.c[1]: the environment variable ${UNSET} is not set"])
    }

    @Test func unsetVariablesCanBeOmittedFromABlock() {
        var (unset, set): ([String], [String]) = ([], [])
        let found = mistakes("a: x\nb:\n  c: [1, \"${UNSET}\"]\n  d: ${UNSET}/e\n  f: ${SET}\n") { value in
            let json = value.json(unset: { unset.append("\($0)") }, fromEnvironment: { set.append($0) })
            #expect(json?.hasPrefix(#"{"a":"x","b":{"c":[1],"f":"#) == true)
        }
        #expect(found == [] && set.count == 1)
        #expect(
            unset == [
                "f.yaml:3:10: b.c[1]: the environment variable ${UNSET} is not set",
                "f.yaml:4:6: b.d: the environment variable ${UNSET}/e is not set",
            ]
        )
    }

    @Test func aliasesToAliasesAreRefusedBeforeTheyAreWrittenOut() {
        var lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
        for level in 1...9 {
            let ten = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            lines.append("a\(level): &a\(level) [\(ten)]")
        }
        let found = mistakes(lines.joined(separator: "\n")) { _ in Issue.record("it was read") }
        #expect(found == ["f.yaml: too large: expected at most 1000000 values, 64 deep, with aliases expanded"])
    }

    @Test func aliasesCannotNestWithoutEnd() {
        let lines = (1...20_000).map { "- &a\($0) [*a\($0 - 1)]" }
        let found = mistakes((["- &a0 [x]"] + lines).joined(separator: "\n")) { _ in Issue.record("it was read") }
        #expect(found.count == 1)
    }

    @Test func aliasesThatStaySmallAreFine() {
        let file = YAMLFile(name: "f.yaml")
        #expect(file.parse("{ a: &a { k: v }, b: *a }")?.json() == #"{"a":{"k":"v"},"b":{"k":"v"}}"#)
    }

    @Test func tabIsExplained() {
        let found = mistakes("a:\n\tb: 1\n") { _ in }
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("f.yaml:2:1: not YAML:") == true && found.first?.contains("tab") == true)
    }

    @Test func nulCharacterIsRefused() {
        #expect(mistakes("a: b\0c") { _ in } == ["f.yaml: not YAML: it contains a control character"])
    }
}
