import Foundation
import Testing

@testable import Nostr

@Suite struct RelayMessageTests {
    private static let odd = "a \"quote\" \\ \n\t\u{01} / é ⚡️"

    private func parse(_ json: [UInt8]) throws -> ReceivedRelayMessage {
        try withExactBuffer(json) { try ReceivedRelayMessage($0) }
    }

    @Test(arguments: [
        (#"["REQ","s",{"kinds":1}]"#, #"["CLOSED","s","invalid: "#), (#"["REQ","s"#, #"["NOTICE","invalid: "#),
        (#"["REQ",1,{}]"#, #"["NOTICE","invalid: "#), (#"["CLOSE","s"#, #"["NOTICE","invalid: "#),
        (#"["EVENT",{"id":"\#(EventSample.id)"}"#, #"["OK","\#(EventSample.id)",false,"invalid: "#),
        (#"["AUTH",{"id":"\#(EventSample.id)"}]"#, #"["OK","\#(EventSample.id)",false,"invalid: "#),
        (#"["AUTH",{"id":"00"}]"#, #"["NOTICE","invalid: "#), ("", #"["NOTICE","invalid: "#),
    ])
    func refusalNamesItsSubject(_ text: String, _ beginning: String) throws {
        let refusal = try withExactBuffer(Array(text.utf8)) { bytes -> RelayMessage in
            let error = #expect(throws: MessageError.self) { try ClientMessage(bytes) }
            return RelayMessage.refusal(of: bytes, try #require(error))
        }
        #expect(String(decoding: refusal.json, as: UTF8.self).hasPrefix(beginning))
    }

    @Test func writtenMessagesAreReadByFoundation() throws {
        let subscription = try #require(SubscriptionID("s\""))
        let event = Event.sample(content: Self.odd)
        let messages: [(RelayMessage, [Any])] = [
            (.ok(.first, isAccepted: true, message: ""), ["OK", EventID.first.hex, true, ""]),
            (.ok(.first, isAccepted: false, message: Self.odd), ["OK", EventID.first.hex, false, Self.odd]),
            (.endOfStoredEvents(subscription), ["EOSE", "s\""]),
            (.closed(subscription, message: Self.odd), ["CLOSED", "s\"", Self.odd]),
            (.notice(Self.odd), ["NOTICE", Self.odd]),
            (.authenticate(challenge: Self.odd), ["AUTH", Self.odd]),
            (
                .event(subscription, json: event.json),
                ["EVENT", "s\"", try JSONSerialization.jsonObject(with: Data(event.json))]
            ),
        ]
        for (message, expected) in messages {
            let read = try JSONSerialization.jsonObject(with: Data(message.json)) as? NSArray
            #expect(read == expected as NSArray)
        }
    }

    @Test func writtenMessagesRoundTrip() throws {
        let subscription = try #require(SubscriptionID("sub"))
        #expect(
            try parse(RelayMessage.ok(.second, isAccepted: true, message: Self.odd).json)
                == .ok(.second, isAccepted: true, message: Self.odd)
        )
        #expect(
            try parse(RelayMessage.ok(.second, isAccepted: false, message: "").json)
                == .ok(.second, isAccepted: false, message: "")
        )
        #expect(try parse(RelayMessage.endOfStoredEvents(subscription).json) == .endOfStoredEvents(subscription))
        #expect(
            try parse(RelayMessage.closed(subscription, message: Self.odd).json)
                == .closed(subscription, message: Self.odd)
        )
        #expect(try parse(RelayMessage.notice(Self.odd).json) == .notice(Self.odd))
        #expect(try parse(RelayMessage.authenticate(challenge: "c").json) == .authenticate(challenge: "c"))
        let event = Event.sample(content: Self.odd)
        let json = RelayMessage.event(subscription, json: event.json).json
        guard case .event(subscription, let range) = try parse(json) else {
            Issue.record("not an EVENT")
            return
        }
        #expect(try Event(json: Array(json[range])) == event)
    }

    @Test(arguments: [
        #"["OK"]"#, #"["OK","ab",true,""]"#, #"["EOSE"]"#, #"["EOSE",""]"#, #"["NOTICE",1]"#, #"["CLOSED","x"]"#,
        #"["EVENT",{}]"#,
        #"["AUTH",{}]"#, #"["NOTICE","x"],"#, #"["NOTICE","x","y"]"#, #"["FOO"]"#, "[]", "{}", "",
    ])
    func invalidMessageIsRefused(_ text: String) {
        #expect(throws: MessageError.self) { try parse(Array(text.utf8)) }
    }

    @Test func commandsAreReadBackAsMessagesOfAClient() throws {
        let subscription = try #require(SubscriptionID("sub"))
        let event = Event.sample(content: Self.odd)
        let filter = Filter(
            ids: [.first, .second],
            authors: [.bob, .alice],
            kinds: [.profile, .giftWrap],
            tags: ["p": [PublicKey.alice.hex], "t": [Self.odd]],
            since: 1,
            until: 2,
            limit: 3
        )
        func read(_ command: ClientCommand) throws -> ClientMessage {
            try withExactBuffer(command.json) { try ClientMessage($0) }
        }
        #expect(try read(.request(subscription, [filter, Filter()])) == .request(subscription, [filter, Filter()]))
        #expect(try read(.close(subscription)) == .close(subscription))
        #expect(try read(.authenticate(event)) == .authenticate(event))
        let json = ClientCommand.publish(event).json
        guard case .event(let range) = try read(.publish(event)) else {
            Issue.record("not an EVENT")
            return
        }
        #expect(try Event(json: Array(json[range])) == event)
    }

    @Test func equalFiltersAreEqualTexts() {
        let filter = Filter(kinds: [.reaction, .textNote], tags: ["t": ["b", "a"], "d": []], limit: 0)
        #expect(String(decoding: filter.json, as: UTF8.self) == ##"{"kinds":[1,7],"#d":[],"#t":["a","b"],"limit":0}"##)
    }

    @Test func prefixesAreReadAndWritten() {
        for prefix in MachineReadablePrefix.allCases {
            #expect(MachineReadablePrefix(of: prefix.message("x: y")) == prefix)
        }
        #expect(MachineReadablePrefix.rateLimited.message("slow down") == "rate-limited: slow down")
        #expect(MachineReadablePrefix.invalid.message(EventError.wrongID).hasPrefix("invalid: id must be"))
        #expect(MachineReadablePrefix(of: "no prefix") == nil)
        #expect(MachineReadablePrefix(of: "unheard-of: x") == nil)
        #expect(MachineReadablePrefix(of: "") == nil)
    }
}
