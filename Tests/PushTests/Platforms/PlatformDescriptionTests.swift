import Core
import PlatformTestSupport
import Testing

@testable import Push

struct PlatformDescriptionTests {
    private static let least = #"{"version":1,"name":"Pager","target":{"kind":"token"}}"#

    @Test(arguments: PlatformCatalog.builtInDocuments.keys.sorted()) func readsTheBuiltInDocuments(
        _ platform: String
    )
        throws
    {
        let document = try #require(PlatformCatalog.builtInDocuments[platform])
        let description = try PlatformDescription(parsing: document)
        #expect(!description.name.isEmpty && !description.doc.isEmpty)
        #expect(PlatformDescription.unknownMembers(in: document) == [])
    }

    @Test func minimalDescriptionIsRead() throws {
        let description = try PlatformDescription(parsing: Self.least)
        #expect(description.block == nil && description.rules.isOpen && description.sample.token == nil)
        #expect(description.target.expected == "the device token from the platform")
    }

    /// Elsewhere the mark has no effect, and `plugin check` reports that.
    @Test func keysOfTheConfigurationMayNameFiles() throws {
        let document = """
            {"version":1,"name":"Pager","target":{"kind":"token"},
             "rules":{"type":"object","properties":{"sound_file":{"type":"string","file":true}}},
             "configuration":{"schema":{"type":"object","properties":{
               "key_file":{"type":"string","file":true},"ca_file":{"type":"string","file":false},
               "old_files":{"type":"array","items":{"type":"string"},"file":true},
               "items":{"type":"array","items":{"type":"string","file":true}},
               "size":{"type":"integer","file":true},
               "more":{"type":"object","properties":{"deep_file":{"type":"string","file":true}}}
             }}}}
            """
        let description = try PlatformDescription(parsing: document)
        #expect(description.configuration.schema.keys.filter(\.isFile).map(\.name) == ["key_file", "old_files"])
        let properties = "/configuration/schema/properties"
        #expect(
            PlatformDescription.unknownMembers(in: document) == [
                "\(properties)/items/items/file", "\(properties)/size/file",
                "\(properties)/more/properties/deep_file/file", "/rules/properties/sound_file/file",
            ]
        )
        #expect(throws: PlatformDescriptionError.self) {
            try PlatformDescription(parsing: document.replacing(#""file":false"#, with: #""file":"no""#))
        }
    }

    @Test func unknownMembersAreIgnored() throws {
        let document = """
            {"version":1,"name":"Pager","target":{"kind":"token","shape":"round"},"colour":"red",
             "rules":{"type":"object","properties":{"tone":{"type":"string","format":"midi"},"x":{"type":"tune"}}}}
            """
        let description = try PlatformDescription(parsing: document)
        #expect(description.rules["tone"]?.schema == .text(TextSchema()))
        #expect(description.rules["x"]?.schema == .any)
        #expect(
            PlatformDescription.unknownMembers(in: document).sorted() == [
                "/colour", "/rules/properties/tone/format", "/rules/properties/x/type", "/target/shape",
            ]
        )
    }

    @Test(arguments: [
        ("", "not JSON"), ("[]", "expected an object"), ("{}", "'version' is missing"),
        (#"{"version":2}"#, "/version: this Carillon reads version 1"),
        (#"{"version":1,"name":"Pager"}"#, "'target' is missing"),
        (#"{"version":1,"name":"Pager","target":{"kind":"pigeon"}}"#, "/target/kind: expected one of token, endpoint"),
        (
            #"{"version":1,"name":"Pager","target":{"kind":"token","pattern":"("}}"#,
            "/target/pattern: not a regular expression"
        ),
        (
            #"{"version":1,"name":"P","target":{"kind":"token"},"pushes":{"kinds":[{"name":"a","nature":"loud"}]}}"#,
            "/pushes/kinds/0/nature: expected one of alert, silent, special"
        ),
        (
            #"{"version":1,"name":"P","target":{"kind":"token"},"rules":{"checks":[{"refuse":["a/b"]}]}}"#,
            "/rules/checks/0: 'message' is missing"
        ),
        (#"{"version":1,"name":"P","target":{"kind":"token"},"block":"a b"}"#, "/block: expected 1 to 32 letters"),
    ]) func invalidDocumentNamesThePlace(_ document: String, _ expected: String) {
        let error = #expect(throws: PlatformDescriptionError.self) { try PlatformDescription(parsing: document) }
        #expect(error?.description.contains(expected) == true, "\(error.map { "\($0)" } ?? "")")
    }

    @Test func findsPlatformsByTheirBlocks() {
        let catalog = PlatformCatalog.builtIn
        #expect(
            catalog.platforms == [
                "android", "email", "gotify", "http", "ios", "mqtt", "ntfy", "telegram", "unifiedpush", "web",
                "webhook",
            ]
        )
        #expect(catalog.platform(ofBlock: "apns") == "ios" && catalog.platform(ofBlock: "ios") == nil)
        #expect(
            catalog.blocks.map(\.key) == [
                "fcm", "email", "gotify", "http", "apns", "mqtt", "ntfy", "telegram", "unifiedpush", "webpush",
                "webhook",
            ]
        )
        #expect(catalog.silentPushesPerHour == ["ios": 3] && catalog.onlyIngressPlatform == "ios")
    }

    @Test func samplesGetTemporaryKeys() throws {
        let sample = try #require(PlatformCatalog.builtIn["web"]).sample
        #expect(sample.hasGeneratedKeys)
        #expect(
            sample.configuration { "<\($0.rawValue)>" }
                == #"{"vapid_key":"<p256-pem>","subject":"mailto:operator@example.com"}"#
        )
        #expect(sample.fields.map(\.name) == ["p256dh", "auth"])
    }

    @Test(arguments: [
        ("ios", "{}", "alert", 2, 4096), ("ios", "{}", "voip", 2, 5120), ("web", "abc", "", 3, 4096),
        ("ntfy", #"{"topic":"t","message":"abc"}"#, "", 3, 4096),
        ("android", #"{"message":{"token":"x","data":{"ab":"cde"},"notification":{"f":"g"}}}"#, "", 7, 4096),
    ])
    func payloadSizesAreCountedPerService(platform: String, body: String, type: String, count: Int, limit: Int) throws {
        let limits = try #require(PlatformCatalog.builtIn[platform]).limits
        let size = limits.size(ofBody: Array(body.utf8), headers: [("apns-push-type", type)])
        #expect(size?.count == ByteCount(count) && size?.limit == ByteCount(limit))
    }
}
