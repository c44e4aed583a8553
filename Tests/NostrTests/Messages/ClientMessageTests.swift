import Testing

@testable import Nostr

@Suite struct ClientMessageTests {
    private let subscription = SubscriptionID("sub")

    private func parse(_ text: String) throws -> ClientMessage {
        try withExactBuffer(Array(text.utf8)) { try ClientMessage($0) }
    }

    private func error(_ text: String) -> MessageError? {
        do {
            _ = try parse(text)
            return nil
        } catch {
            return error as? MessageError
        }
    }

    @Test(arguments: ["[\"EVENT\",%]", " [ \"EVENT\" , % ] \n", "[\"\\u0045VENT\",%\t]"])
    func eventRangeIsReported(_ form: String) throws {
        let event = String(decoding: EventSample.json(), as: UTF8.self)
        let text = form.split(separator: "%").joined(separator: event)
        guard case .event(let range) = try parse(text) else {
            Issue.record("not an EVENT: \(text)")
            return
        }
        #expect(String(decoding: Array(text.utf8)[range], as: UTF8.self) == event)
    }

    @Test(arguments: ["{},{}", "{}]", "[{}]", "{", ""])
    func malformedEventMessageIsLeftToTheScanner(_ inside: String) {
        let text = Array("[\"EVENT\",\(inside)]".utf8)
        guard case .event(let range)? = try? parse("[\"EVENT\",\(inside)]") else { return }
        #expect(throws: EventError.self) { try Event(json: Array(text[range])) }
    }

    @Test func readsRequests() throws {
        let id = EventID.first
        let text = """
            ["REQ", "sub", {"ids":["\(id.hex)"],"authors":["\(PublicKey.alice.hex)"],"kinds":[1,65535],"#e":["\(id.hex)"],
            "#t":["a","b"],"#A":[],"since":0,"until":9223372036854775807,"limit":10,"search":"best \\ud83d\\ude00"}, {}]
            """
        let filter = Filter(
            ids: [id],
            authors: [.alice],
            kinds: [.textNote, Kind(65535)],
            tags: ["e": [id.hex], "t": ["a", "b"], "A": []],
            since: 0,
            until: .max,
            limit: 10
        )
        #expect(try parse(text) == .request(try #require(subscription), [filter, Filter()]))
    }

    @Test func readsCloseAndAuthentication() throws {
        #expect(try parse(#"["CLOSE","sub"]"#) == .close(try #require(subscription)))
        let event = try Event(json: EventSample.json(kind: "22242"))
        #expect(try parse("[\"AUTH\", \(event.jsonString) ]") == .authenticate(event))
        #expect(error(#"["AUTH","challenge"]"#) == .invalidEvent(.notAnObject))
    }

    @Test(arguments: [
        (#"["COUNT","x",{}]"#, "unknown command COUNT: expected EVENT, REQ, CLOSE or AUTH"),
        (#"["no word at all"]"#, "unknown command: expected EVENT, REQ, CLOSE or AUTH"),
        (#"["REQ"]"#, "the message ends too early: expected a subscription id"),
        (#"["REQ","x"]"#, "the message ends too early: expected a filter"),
        (#"["REQ",1,{}]"#, "a subscription id must be a string of 1 to 64 characters"),
        (#"["REQ","",{}]"#, "a subscription id must be a string of 1 to 64 characters"),
        (#"["CLOSE",""]"#, "a subscription id must be a string of 1 to 64 characters"),
        (#"["REQ","x",{"kinds":[65536]}]"#, "kinds in a filter must be an array of integers from 0 to 65535"),
        (#"["REQ","x",{"kinds":1}]"#, "kinds in a filter must be an array of integers from 0 to 65535"),
        (
            #"["REQ","x",{"ids":["ab"]}]"#,
            "ids in a filter must be an array of strings of 64 lowercase hexadecimal digits"
        ),
        (
            ##"["REQ","x",{"#p":["ab"]}]"##,
            "#p in a filter must be an array of strings of 64 lowercase hexadecimal digits"
        ),
        (##"["REQ","x",{"#t":[1]}]"##, "#t in a filter must be an array of strings"),
        (##"["REQ","x",{"#tag":["a"]}]"##, "a field that starts with # in a filter must be named by a single letter"),
        (##"["REQ","x",{"#1":["a"]}]"##, "a field that starts with # in a filter must be named by a single letter"),
        (#"["REQ","x",{"since":-1}]"#, "since in a filter must be an integer from 0, in seconds"),
        (#"["REQ","x",{"limit":1.5}]"#, "limit in a filter must be an integer from 0"),
        (#"["REQ","x",{"limit":1,"limit":2}]"#, "limit must occur in a filter only once"),
        (#"["EVENT"]"#, "the message ends too early: expected an event"),
        (#"["EVENT",]"#, "the message ends too early: expected an event"),
        (
            #"{"a":1}"#,
            "a message must be a JSON array that starts with the name of a command: expected an array at byte 0"
        ),
        (#"[1]"#, "a message must be a JSON array that starts with the name of a command: expected a string at byte 1"),
    ])
    func errorsNameTheExpectedValue(_ text: String, _ description: String) {
        #expect(error(text)?.description == description)
    }

    @Test(arguments: [
        "", " ", "[", "[]", "null", "[\"REQ\",\"x\",{}", "[\"CLOSE\",\"x\"]]", "[\"REQ\",\"x\",{},]",
        "[\"CLOSE\" \"x\"]",
    ])
    func invalidMessageIsRefused(_ text: String) {
        #expect(error(text) != nil)
    }

    @Test func subscriptionIDsHaveUpTo64Characters() {
        #expect(SubscriptionID("") == nil)
        #expect(SubscriptionID(String(repeating: "é", count: 64)) != nil)
        #expect(SubscriptionID(String(repeating: "x", count: 65)) == nil)
        #expect(SubscriptionID("e" + String(repeating: "\u{301}", count: 64)) == nil)
    }

    @Test func truncatedMessageIsRefused() {
        let text =
            ##"["REQ","s\u0061b",{"kinds":[1,2],"ids":["\##(EventID.first.hex)"],"#t":["é"],"limit":5,"x":{"y":[1]}}]"##
        let bytes = Array(text.utf8)
        for length in 0..<bytes.count {
            withExactBuffer(Array(bytes[..<length])) { prefix in
                _ = #expect(throws: MessageError.self) { try ClientMessage(prefix) }
            }
        }
        #expect(error(text) == nil)
    }
}

@Suite struct FilterTests {
    private static let event = Event.sample(
        kind: .reaction,
        by: .alice,
        createdAt: 100,
        tags: [["t", "a", "z"], ["t"], ["p", PublicKey.bob.hex], ["xy", "v"]]
    )

    private struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let filter: Filter
        let matches: Bool
    }

    private static let rows = [
        Row(testDescription: "everything", filter: Filter(), matches: true),
        Row(testDescription: "id", filter: Filter(ids: [.first, .second]), matches: true),
        Row(testDescription: "other id", filter: Filter(ids: [.second]), matches: false),
        Row(testDescription: "no id", filter: Filter(ids: []), matches: false),
        Row(testDescription: "author", filter: Filter(authors: [.alice]), matches: true),
        Row(testDescription: "other author", filter: Filter(authors: [.bob]), matches: false),
        Row(testDescription: "kind", filter: Filter(kinds: [.reaction]), matches: true),
        Row(testDescription: "other kind", filter: Filter(kinds: [.textNote]), matches: false),
        Row(testDescription: "since now", filter: Filter(since: 100), matches: true),
        Row(testDescription: "since later", filter: Filter(since: 101), matches: false),
        Row(testDescription: "until now", filter: Filter(until: 100), matches: true),
        Row(testDescription: "until before", filter: Filter(until: 99), matches: false),
        Row(testDescription: "tag", filter: Filter(tags: ["t": ["b", "a"]]), matches: true),
        Row(testDescription: "only the first value", filter: Filter(tags: ["t": ["z"]]), matches: false),
        Row(testDescription: "case of the letter", filter: Filter(tags: ["T": ["a"]]), matches: false),
        Row(testDescription: "no value", filter: Filter(tags: ["t": []]), matches: false),
        Row(testDescription: "both tags", filter: Filter(tags: ["t": ["a"], "p": [PublicKey.bob.hex]]), matches: true),
        Row(
            testDescription: "one tag of two",
            filter: Filter(tags: ["t": ["a"], "p": [PublicKey.alice.hex]]),
            matches: false
        ),
        Row(testDescription: "letters that begin a name", filter: Filter(tags: ["x": ["v"]]), matches: false),
        Row(testDescription: "limit has no part", filter: Filter(limit: 0), matches: true),
        Row(testDescription: "all must hold", filter: Filter(authors: [.alice], kinds: [.textNote]), matches: false),
    ]

    @Test(arguments: rows)
    private func filtersMatchAsNIP01(_ row: Row) {
        #expect(row.filter.matches(Self.event) == row.matches)
    }
}
