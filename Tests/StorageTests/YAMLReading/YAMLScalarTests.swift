import Testing

@testable import Storage

@Suite struct YAMLScalarTests {
    private func value(_ yaml: String) throws -> YAMLValue {
        try #require(YAMLFile(name: "f").parse("v: " + yaml)?.mapping()?["v"])
    }

    @Test(
        arguments: [
            ("5", .whole(5)), ("-7", .whole(-7)), ("1.5", .number(1.5)), ("true", .flag(true)), ("no", .flag(false)),
            ("~", .null), ("null", .null), ("plain", .text("plain")), ("\"5\"", .text("5")), ("'true'", .text("true")),
            ("\"\"", .text("")), (".inf", .text(".inf")), ("9223372036854775808", .number(9_223_372_036_854_775_808)),
        ] as [(String, YAMLScalar)]
    )
    func quotesMakeText(_ yaml: String, _ scalar: YAMLScalar) throws {
        #expect(try value(yaml).scalar() == scalar)
    }

    @Test(arguments: ["[1]", "{ a: 1 }"])
    func listsAndMappingsAreNotScalars(_ yaml: String) throws {
        #expect(try value(yaml).scalar() == nil)
        #expect(try value(yaml).file.mistakes.isEmpty)
    }

    /// YAML 1.1 would put the keys of one mapping into another.
    @Test func keysAreNotMerged() throws {
        let value = try value("{ a: &a { b: 1 }, c: { <<: *a, '<<': 2 } }")
        #expect(value.json() == #"{"a":{"b":1},"c":{"<<":2}}"#)
        #expect(
            value.file.mistakes.map(\.description) == [
                "f:1:27: v.c: merging keys (<<) is not supported: write the keys out, or alias the whole value"
            ]
        )
    }

    @Test func missingEnvironmentVariableIsAnError() throws {
        let value = try value("${NOT_SET}")
        #expect(value.scalar() == nil)
        #expect(value.file.mistakes.count == 1)
    }

    @Test(
        arguments: [
            ("!!int \"{{count}}\"", true), ("!!float '{{zap.amount}}'", true), ("\"{{count}}\"", false), ("5", false),
            ("!!str 5", false),
        ]
    )
    func yamlTagsSelectNumbers(_ yaml: String, _ isNumber: Bool) throws {
        #expect(try value(yaml).isTaggedAsNumber == isNumber)
    }
}
