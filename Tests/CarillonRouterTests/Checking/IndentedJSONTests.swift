import Testing

@testable import CarillonRouter
@testable import Operations

@Suite struct IndentedJSONTests {
    @Test func membersKeepTheirOrder() {
        #expect(
            IndentedJSON.text(Array(#"{"b":1,"a":[true,{}],"c":[]}"#.utf8)) == """
                {
                  "b": 1,
                  "a": [
                    true,
                    {}
                  ],
                  "c": []
                }
                """
        )
    }

    @Test func textsStayAsTheyAre() {
        let text = #"{"a":"x, {\"y\": [\\]}","ä":"\\"}"#
        #expect(IndentedJSON.text(Array(text.utf8)) == "{\n  \"a\": \"x, {\\\"y\\\": [\\\\]}\",\n  \"ä\": \"\\\\\"\n}")
    }

    @Test func whatIsIndentedAlreadyComesOutTheSame() throws {
        let once = try #require(IndentedJSON.text(Array(#"{"a":[1,{"b":null}]}"#.utf8)))
        #expect(IndentedJSON.text(Array(once.utf8)) == once)
    }

    @Test(arguments: ["", "{", "nothing", "{\"a\":}"])
    func whatIsNoJSONIsLeftAlone(text: String) {
        #expect(IndentedJSON.text(Array(text.utf8)) == nil)
    }
}
