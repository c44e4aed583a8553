import PluginKit
import Testing

struct JSONPointerTests {
    /// Those of RFC 6901 section 5, and misses.
    @Test(arguments: [
        ("/foo", #"["bar", "baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"), ("/m~0n", "8"),
        ("/deep/list/1/x", "true"), ("/foo/2", nil), ("/foo/-1", nil), ("/foo/x", nil), ("/none", nil), ("/ /x", nil),
    ])
    func pointerFindsItsValue(_ pointer: String, _ expected: String?) throws {
        let object = try JSONObject(
            parsing: #"{"foo":["bar", "baz"],"":0,"a/b":1,"c%d":2," ":7,"m~n":8,"deep":{"list":[0,{"x":true}]}}"#
        )
        let value = try #require(JSONPointer(pointer)).value(in: object)
        #expect(value.map { String(decoding: $0.raw, as: UTF8.self) } == expected)
    }

    @Test(arguments: ["", "foo", "#/foo"]) func nonPointersAreNil(_ text: String) { #expect(JSONPointer(text) == nil) }
}
