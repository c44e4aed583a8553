import Push
import Testing

@testable import PluginHost

/// A plugin's description of its platform, and the limits that the host applies to it.
struct DescriptionTests {
    private static let document =
        #"{\"version\":1,\"name\":\"Fixture\",\"block\":\"fix\",\"target\":{\"kind\":\"token\"}}"#

    /// Loads one plugin with the document, given as C has it.
    private func host(_ flags: String...) throws -> PluginHost {
        let workshop = try Workshop()
        try workshop.compile("descriptor.c", to: "fixture.so", flags + [#"-DPLATFORM="fixture""#])
        return workshop.load()
    }

    private func reason(_ flags: String...) throws -> String {
        let workshop = try Workshop()
        try workshop.compile("descriptor.c", to: "fixture.so", flags + [#"-DPLATFORM="fixture""#])
        let host = workshop.load()
        #expect(host.catalog.plugins.isEmpty)
        #expect(host.platformCatalog.platforms.isEmpty)
        return try #require(host.catalog.refusals.first).reason.description
    }

    @Test func descriptionIsReadWhileLoading() throws {
        let host = try host(#"-DDESCRIBE="\#(Self.document)""#)
        #expect(host.catalog.refusals.isEmpty)
        #expect(host.platformCatalog.platforms == ["fixture"])
        #expect(host.platformCatalog["fixture"]?.name == "Fixture")
        #expect(host.platformCatalog.platform(ofBlock: "fix") == "fixture")
        #expect(host.catalog.plugins.first?.descriptions["fixture"]?.block == "fix")
    }

    @Test func descriptionIsOptional() throws {
        for flag in ["-DDESCRIBE_NOTHING", "-DUNDESCRIBED"] {
            let host = try host(flag)
            #expect(host.platforms == ["fixture"])
            #expect(host.platformCatalog.platforms.isEmpty)
            #expect(host.blockChecks.isEmpty)
        }
    }

    /// The memory after the struct of an older minor version does not belong to the plugin.
    @Test(arguments: ["cancel", "command", "describe"])
    func olderPluginHasNoDescription(end: String) throws {
        let host = try host("-DDESCRIBE_GARBAGE", "-DTRANSPORT_SIZE=offsetof(carillon_transport, \(end))")
        #expect(host.platforms == ["fixture"])
        #expect(host.platformCatalog.platforms.isEmpty)
        #expect(host.blockChecks.isEmpty)
    }

    @Test func newerPluginMayHaveIt() throws {
        let host = try host("-DNEWER", #"-DDESCRIBE="\#(Self.document)""#)
        #expect(host.platformCatalog["fixture"]?.name == "Fixture")
    }

    @Test func unknownDescriptionMembersAreAllowed() throws {
        let document = Self.document.dropLast() + #",\"smell\":{\"kind\":[1,null]}}"#
        #expect(try host(#"-DDESCRIBE="\#(document)""#).platformCatalog["fixture"]?.name == "Fixture")
    }

    @Test func newerDescriptionVersionIsIgnored() throws {
        let host = try host(#"-DDESCRIBE="{\"version\":2,\"name\":[],\"target\":\"anywhere\"}""#)
        #expect(host.platforms == ["fixture"])
        #expect(host.platformCatalog.platforms.isEmpty)
    }

    @Test(arguments: [
        (#"-DDESCRIBE="{""#, "not JSON"), (#"-DDESCRIBE="[]""#, "expected an object"),
        (#"-DDESCRIBE="{\"version\":\"1\"}""#, "/version"), (#"-DDESCRIBE="{\"version\":1}""#, "'name' is missing"),
        (#"-DDESCRIBE="{\"version\":1,\"name\":\"x\",\"target\":{\"kind\":\"pigeon\"}}""#, "/target/kind"),
        (#"-DDESCRIBE="\xff\xfe""#, "UTF-8"), ("-DDESCRIBE_JUNK", "at most 262144 bytes"),
        ("-DDESCRIBE_NULL", "UTF-8"), ("-DDESCRIBE_ENDLESS", "at most 262144 bytes"),
    ])
    func malformedDescriptionRefusesThePlugin(flag: String, words: String) throws {
        let reason = try reason(flag)
        #expect(reason.contains("its description of the platform fixture is invalid: "), "\(reason)")
        #expect(reason.contains(words), "\(reason)")
    }

    @Test func ruleBlockBelongsToOnePlatform() throws {
        let workshop = try Workshop()
        let first = try workshop.compile(
            "descriptor.c",
            to: "a.so",
            [#"-DPLATFORM="one""#, #"-DDESCRIBE="\#(Self.document)""#]
        )
        try workshop.compile("descriptor.c", to: "b.so", [#"-DPLATFORM="two""#, #"-DDESCRIBE="\#(Self.document)""#])
        let host = workshop.load()
        #expect(host.platforms == ["one"])
        #expect(host.catalog.refusals.map(\.reason) == [.nameTaken("rule block fix", by: first)])
    }

    @Test func blocksAreCheckedByThePlugin() throws {
        let host = try host(
            #"-DDESCRIBE="\#(Self.document)""#,
            #"-DCHECK_REFUSES="bad""#,
            #"-DCHECK_SAYS="/tone: expected a better one\n""#
        )
        let check = try #require(host.blockChecks["fixture"])
        #expect(check("{}") == nil)
        #expect(check(#"{"tone":"good"}"#) == nil)
        #expect(check(#"{"tone":"bad"}"#) == "/tone: expected a better one\u{FFFD}")
    }

    @Test func refusalWithoutAMessageIsStillARefusal() throws {
        let host = try host(#"-DCHECK_REFUSES="bad""#, #"-DCHECK_SAYS="""#)
        #expect(host.blockChecks["fixture"]?("bad") == "no error message (status 1)")
        #expect(host.platformCatalog.platforms.isEmpty)
    }
}
